import { createActivity, createAthleteProfile, streamsOf, summaryOf } from '#training-world';
import { type ShapeFacts, shapeOf } from '#run-shape';
import { readRecording, type Recording } from '../libs/streams/src/recording/recording.js';
import { report } from './harness.js';
import { type Finding, median } from './results.js';

// Measures the processor time to analyse a recording, for each kind of session. Each round analyses every recording once. All times are
// scaled to a recording of an hour with 3,600 samples.
const ROUNDS = 15;
const RECORDINGS = 10;
const HOUR = 3_600;
const GOAL_MS = 15;

type Wanted = Pick<Parameters<typeof createActivity>[0], 'sport' | 'profile' | 'durationS' | 'repetitions'>;

interface Sample {
  readonly recording: Recording;
  readonly facts: ShapeFacts;
}

const kinds: Record<string, Wanted> = {
  'an easy run of an hour': { sport: 'Run', profile: 'easy', durationS: HOUR },
  'repetitions on the track': { sport: 'Run', profile: 'intervals', repetitions: 12 },
  'repetitions up a hill': { sport: 'Run', profile: 'hills' },
  'a ride of four hours': { sport: 'Ride', profile: 'ride', durationS: 4 * HOUR },
  'intervals by power': { sport: 'VirtualRide', profile: 'intervals' },
};

const findings: Finding[] = [];
const raw: Record<string, number[]> = {};
for (const [name, wanted] of Object.entries(kinds)) {
  const samples = Array.from({ length: RECORDINGS }, (_, seed) => sampleOf(seed, wanted));
  measured(samples);
  const perHour = Array.from({ length: ROUNDS }, () => measured(samples));
  raw[name] = perHour;
  findings.push({
    what: `${name}: for an hour of it`,
    measured: `${median(perHour).toFixed(2)} ms`,
    goal: `≤ ${GOAL_MS} ms`,
    met: median(perHour) <= GOAL_MS,
  });
}
await report({ name: 'run-shape', findings, raw });

/** Milliseconds for an hour of samples, averaged over the recordings. */
function measured(samples: readonly Sample[]): number {
  const points = samples.reduce((sum, { recording }) => sum + recording.pointCount, 0);
  const begunAt = performance.now();
  for (const { recording, facts } of samples) shapeOf(recording, facts);
  return ((performance.now() - begunAt) * HOUR) / points;
}

function sampleOf(seed: number, wanted: Wanted): Sample {
  const activity = createActivity({
    id: `${9_000 + seed}`,
    athlete: createAthleteProfile(seed),
    startMs: Date.UTC(2026, 5, 1, 7),
    ...wanted,
  });
  const { sport_type, distance, moving_time, elapsed_time, total_elevation_gain } = summaryOf(activity);
  const recording = readRecording({ ...streamsOf(activity) });
  if (!recording) throw new Error('nothing was recorded');
  return {
    recording,
    facts: {
      sport_type,
      distance_m: distance,
      moving_time_s: moving_time,
      elapsed_time_s: elapsed_time,
      elevation_gain_m: total_elevation_gain,
    },
  };
}
