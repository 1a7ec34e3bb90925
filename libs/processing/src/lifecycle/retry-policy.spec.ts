import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { retryAfterMs } from './retry-policy.js';

describe('retryAfterMs', () => {
  it('the wait after a failed attempt doubles from half a minute to an hour', () => {
    const longest = [1, 2, 3, 7, 8, 20].map((attempt) => retryAfterMs(attempt, () => 1));
    expect(longest).toEqual([30_000, 60_000, 120_000, 1_920_000, 3_600_000, 3_600_000]);
  });

  it('the wait after a failed attempt is random between half of the longest wait and the longest wait', () => {
    const random = fc.double({ min: 0, max: 1, noNaN: true });
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 50 }), random, (attempt, luck) => {
        const whole = retryAfterMs(attempt, () => 1);
        const wait = retryAfterMs(attempt, () => luck);
        return wait >= whole / 2 && wait <= whole;
      }),
    );
  });
});
