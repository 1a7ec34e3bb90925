import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { createHistory, summaryOf, truthOf } from './index.js';

const endsAtMs = Date.UTC(2026, 10, 18, 9);

describe('truthOf', () => {
  it('segments of truthOf have no gaps and add up to the summary', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 2 ** 31 }), (seed) => {
        for (const activity of createHistory({ seed, count: 40, endsAtMs, manualShare: 0 })) {
          const truth = truthOf(activity);
          let atS = 0;
          const starts = truth.segments.map(({ duration_s }) => (atS += duration_s) - duration_s);
          expect(truth.segments.map(({ start_s }) => start_s)).toEqual(starts);
          expect(truth.segments.filter(({ duration_s }) => duration_s <= 0)).toEqual([]);
          const stoppedS = truth.stops.reduce((sum, stop) => sum + stop.seconds, 0);
          const summary = summaryOf(activity);
          expect(atS).toBe(summary.elapsed_time);
          expect(summary.elapsed_time - stoppedS).toBe(summary.moving_time);
          expect(truth.distance_m).toBeCloseTo(summary.distance, 1);
          expect(JSON.stringify(truth)).not.toMatch(/NaN|Infinity/);
        }
      }),
      // Every run checks forty activities.
      { numRuns: 10 },
    );
  });

  it('truthOf counts repetitions, and no stop lies inside a repetition', () => {
    // About 200 of the 1,000 activities have repetitions. The test checks nothing in the others.
    const sessions = [1, 2].flatMap((seed) => createHistory({ seed, count: 500, endsAtMs }));
    for (const activity of sessions.filter(({ manual }) => !manual)) {
      const truth = truthOf(activity);
      const works = truth.segments.filter(
        ({ kind, repetition }) => repetition !== null && kind !== 'recovery',
      );
      expect(works.map(({ repetition }) => repetition)).toEqual(works.map((_, index) => index + 1));
      expect(truth.repetitions).toBe(works.length);
      for (const work of works) {
        const isBroken = truth.stops.some(
          ({ at_s }) => at_s > work.start_s && at_s < work.start_s + work.duration_s,
        );
        expect(isBroken).toBe(false);
      }
    }
  });
});
