/** One sample a second of all eleven channels, as jagged as a watch records them. The same for the same seed. */
export function recordingOf(points: number, seed: number): Record<string, unknown[]> {
  const random = randomFrom(seed);
  const channels: Record<string, unknown[]> = {};
  const walk = (from: number, step: number, digits: number) => {
    let value = from;
    return () => Number((value += (random() - 0.5) * step).toFixed(digits));
  };
  const samplers: Record<string, () => unknown> = {
    distance: walk(0, 6, 1),
    altitude: walk(200, 0.8, 1),
    velocity_smooth: walk(3, 0.2, 3),
    heartrate: walk(150, 2, 0),
    cadence: walk(85, 3, 0),
    watts: walk(220, 25, 0),
    temp: walk(18, 0.1, 0),
    grade_smooth: walk(0, 0.6, 1),
    moving: () => random() > 0.01,
  };
  const [lat, lng] = [walk(52.5, 0.0001, 6), walk(13.4, 0.0001, 6)];
  channels.time = Array.from({ length: points }, (_, second) => second);
  channels.latlng = Array.from({ length: points }, () => [lat(), lng()]);
  for (const [name, sample] of Object.entries(samplers))
    channels[name] = Array.from({ length: points }, sample);
  return channels;
}

/** mulberry32 */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
