import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { readRecording, type Recording } from '../../streams/src/recording/recording.js';
import { type ShapeFacts } from './facts.js';
import { PROFILES, type RunShape } from './run-shape.js';
import { easy, factsFor, repeated, session } from './session.harness.js';
import { shapeOf } from './shape-of.js';

const RUNS = 100;
const SPORTS = [
  'Run',
  'TrailRun',
  'Ride',
  'VirtualRide',
  'Swim',
  'Walk',
  'Hike',
  'WeightTraining',
  'Kitesurf',
];

const amount = fc.oneof(fc.constant(0), fc.double({ min: 0, max: 1e6, noNaN: true }), fc.constant(-1));
const facts: fc.Arbitrary<ShapeFacts> = fc.record({
  sport_type: fc.constantFrom(...SPORTS),
  distance_m: amount,
  moving_time_s: amount,
  elapsed_time_s: amount,
  elevation_gain_m: amount,
});

/** Usual numbers, extreme numbers and gaps. */
function samples(length: number, usual: number): fc.Arbitrary<(number | null)[]> {
  const sample = fc.oneof(
    { weight: 8, arbitrary: fc.double({ min: 0, max: 2 * usual, noNaN: true }) },
    { weight: 1, arbitrary: fc.double({ min: -1e9, max: 1e9, noNaN: true }) },
    { weight: 1, arbitrary: fc.constant(null) },
  );
  return fc.array(sample, { minLength: length, maxLength: length });
}

function times(length: number): fc.Arbitrary<number[]> {
  const interval = fc.oneof(
    { weight: 30, arbitrary: fc.constant(1) },
    { weight: 2, arbitrary: fc.constantFrom(0, 0.25, 2, 7, 40, 5_000) },
    { weight: 1, arbitrary: fc.double({ min: 0, max: 1e5, noNaN: true }) },
  );
  const start = fc.oneof(fc.constant(0), fc.double({ min: 0, max: 1e8, noNaN: true }));
  return fc
    .tuple(start, fc.array(interval, { minLength: length, maxLength: length }))
    .map(([first, gaps]) => {
      let at = first;
      return gaps.map((gap, index) => (index === 0 ? at : (at = Math.min(1e9, at + gap))));
    });
}

const position = fc.oneof(
  fc.constant(null),
  fc.tuple(fc.double({ min: -90, max: 90, noNaN: true }), fc.double({ min: -180, max: 180, noNaN: true })),
);

/** Any recording that passes the validation. */
const recordings: fc.Arbitrary<Recording> = fc.integer({ min: 1, max: 200 }).chain((length) =>
  fc
    .record(
      {
        time: times(length),
        distance: samples(length, 3_000),
        velocity_smooth: samples(length, 3),
        altitude: samples(length, 100),
        heartrate: samples(length, 140),
        watts: samples(length, 200),
        latlng: fc.array(position, { minLength: length, maxLength: length }),
        moving: fc.array(fc.boolean(), { minLength: length, maxLength: length }),
      },
      { requiredKeys: ['time'] },
    )
    .map((channels) => readRecording(channels)!),
);

function requireTiled({ segments }: RunShape, time: readonly number[]): void {
  const lasts = time[time.length - 1]! - time[0]!;
  segments.forEach(({ from_s, to_s }, index) => {
    expect(to_s).toBeGreaterThanOrEqual(from_s);
    expect(from_s).toBe(index === 0 ? 0 : segments[index - 1]!.to_s);
  });
  const last = segments[segments.length - 1];
  if (last) expect(Math.abs(last.to_s - lasts)).toBeLessThanOrEqual(0.06);
}

describe('the shape of any recording', () => {
  it('the shape of any recording is valid JSON without NaN, and the segments cover the whole time', () => {
    fc.assert(
      fc.property(recordings, facts, (recording, row) => {
        const shape = shapeOf(recording, row);
        expect(PROFILES).toContain(shape.profile);
        expect(shape.title).not.toBe('');
        expect(`${shape.title} ${shape.description}`).not.toMatch(/NaN|Infinity|undefined|null/);
        // A number that is not finite would be null after a round trip.
        expect(JSON.parse(JSON.stringify(shape))).toEqual(shape);
        requireTiled(shape, recording.channels['time'] as number[]);
      }),
      { numRuns: RUNS },
    );
  });

  it('the shape is equal for equal input, in any order of the channels', () => {
    fc.assert(
      fc.property(recordings, facts, (recording, row) => {
        const channels = Object.fromEntries(Object.entries(recording.channels).reverse());
        expect(shapeOf({ ...recording, channels }, { ...row })).toEqual(shapeOf(recording, row));
      }),
      { numRuns: RUNS },
    );
  });

  it('the hash of a shape does not depend on the time of the first sample', () => {
    const parts = [
      easy(10),
      ...repeated(5, { seconds: 120, speed: 4 }, { seconds: 60, speed: 2.4 }),
      easy(10),
    ];
    const { hash } = shapeOf(session(parts), factsFor(parts));
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 1e8 }), (startsAtS) => {
        const original = session(parts).channels;
        const time = (original['time'] as number[]).map((at) => at + startsAtS);
        const moved = readRecording({ ...original, time })!;
        expect(shapeOf(moved, factsFor(parts)).hash).toBe(hash);
      }),
      { numRuns: 50 },
    );
  });

  it('the hash of a shape changes with its content', () => {
    const parts = [easy(30)];
    const { hash } = shapeOf(session(parts), factsFor(parts));
    expect(hash).toMatch(/^[0-9a-f]{64}$/);
    expect(shapeOf(session(parts), factsFor(parts, { distance_m: 9_000 })).hash).not.toBe(hash);
  });
});
