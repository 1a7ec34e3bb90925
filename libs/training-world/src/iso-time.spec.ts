import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { isoDay, isoSeconds } from './iso-time.js';

describe('iso time', () => {
  it('isoSeconds agrees with Date for moments within four thousand years', () => {
    const moments = fc.integer({ min: Date.UTC(0, 0, 1), max: Date.UTC(4000, 0, 1) });
    fc.assert(
      fc.property(moments, (ms) => {
        const expected = new Date(ms).toISOString();
        expect(isoSeconds(ms)).toBe(`${expected.slice(0, 19)}Z`);
        expect(isoDay(Math.floor(ms / 86_400_000))).toBe(expected.slice(0, 10));
      }),
      { numRuns: 1000 },
    );
  });

  it('isoSeconds formats leap days and moments before 1970 correctly', () => {
    expect(isoSeconds(Date.UTC(2000, 1, 29, 23, 59, 59))).toBe('2000-02-29T23:59:59Z');
    expect(isoSeconds(Date.UTC(2100, 2, 1))).toBe('2100-03-01T00:00:00Z');
    expect(isoSeconds(-1000)).toBe('1969-12-31T23:59:59Z');
  });
});
