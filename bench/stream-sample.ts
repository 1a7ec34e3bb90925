import { createActivity, createAthleteProfile, streamsOf } from '#training-world';

type Channels = Record<string, unknown[]>;

const ALL = 11;

/** `count` rides of the simulator with all eleven channels, cut to `points` samples. */
export function recordings(count: number, points: number): Channels[] {
  const found: Channels[] = [];
  for (let seed = 0; found.length < count; seed += 1) {
    const channels = rideOf(seed, points);
    // Some athletes have no power meter, so their rides lack a channel.
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
    // The ride is ten minutes longer, because it may contain a break without samples.
    durationS: points + 600,
  });
  const channels = Object.entries(streamsOf(ride) ?? {}) as Array<[string, unknown[]]>;
  return Object.fromEntries(channels.map(([name, samples]) => [name, samples.slice(0, points)]));
}
