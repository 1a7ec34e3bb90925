import { createActivity, createAthleteProfile, streamsOf } from '../apps/simulator/src/athletes/index.js';

type Channels = Record<string, unknown[]>;

const ALL = 11;

/** Rides with all eleven channels, as the simulator records them, cut to that many samples. */
export function recordings(count: number, points: number): Channels[] {
  const found: Channels[] = [];
  for (let seed = 0; found.length < count; seed += 1) {
    const channels = rideOf(seed, points);
    // Not everybody has a power meter.
    if (Object.keys(channels).length === ALL && channels.time?.length === points) found.push(channels);
    if (seed > 50 * count) throw new Error('the simulator has no such rides');
  }
  return found;
}

function rideOf(seed: number, points: number): Channels {
  const ride = createActivity({
    id: `${1_000 + seed}`,
    athlete: createAthleteProfile(seed),
    startMs: Date.UTC(2026, 5, 1, 7),
    sport: 'Ride',
    profile: 'ride',
    // Some of it may be a break, in which nothing is recorded.
    durationS: points + 600,
  });
  const channels = Object.entries(streamsOf(ride) ?? {}) as Array<[string, unknown[]]>;
  return Object.fromEntries(channels.map(([name, samples]) => [name, samples.slice(0, points)]));
}
