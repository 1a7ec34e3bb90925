import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { VENDORS } from '#vendors';
import {
  AGREED,
  type ClockDifference,
  corrected,
  differenceShownBy,
  differenceText,
  parseDifference,
  secondsOf,
  shiftOf,
} from './clock-difference.js';
import { shifted, windowAt, windowsAt } from './windows.js';

const QUARTER_MS = 900_000;
const DAY_MS = 86_400_000;
const NOW_MS = Date.UTC(2026, 10, 20, 12);

/** As an answer shows it that took `tookMs`, if the vendor's clock is behind Redis' by `byMs`. */
const behind = (byMs: number, tookMs = 100): ClockDifference =>
  differenceShownBy(Math.floor((NOW_MS - byMs) / 1_000) * 1_000, {
    chargedAtMs: NOW_MS - tookMs,
    answeredAtMs: NOW_MS,
  });

const COUNTERS = VENDORS.strava.limits.counters.slice(0, 2);

describe('the difference between Redis’ clock and the vendor’s', () => {
  it('an answer whose Date fits Redis’ clock shows no difference, also a slow one', () => {
    for (const tookMs of [0, 100, 8_000])
      for (const byMs of [-900, 0, 900]) expect(corrected(AGREED, behind(byMs, tookMs))).toBe(AGREED);
  });

  it('the range that an answer shows contains the true difference', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: -2 * DAY_MS, max: 2 * DAY_MS }),
        fc.integer({ min: 0, max: 30_000 }),
        fc.double({ min: 0, max: 1, noNaN: true }),
        (byMs, tookMs, share) => {
          const answeredByMs = NOW_MS - tookMs * share;
          const dateMs = Math.floor((answeredByMs - byMs) / 1_000) * 1_000;
          const { leastMs, mostMs } = differenceShownBy(dateMs, {
            chargedAtMs: NOW_MS - tookMs,
            answeredAtMs: NOW_MS,
          });
          expect(leastMs).toBeLessThanOrEqual(byMs);
          expect(mostMs).toBeGreaterThanOrEqual(byMs);
        },
      ),
    );
  });

  it('a difference is kept until an answer contradicts it, and ends with an answer that fits again', () => {
    const known = corrected(AGREED, behind(10_000));
    expect(Math.abs(secondsOf(known) - 10)).toBeLessThanOrEqual(1);
    expect(corrected(known, behind(10_300))).toBe(known);
    expect(corrected(known, behind(20_000))).toEqual(behind(20_000));
    // A slow answer contradicts neither the known difference nor equal clocks.
    expect(corrected(known, behind(10_000, 30_000))).toBe(known);
    expect(corrected(known, behind(0))).toBe(AGREED);
  });

  it('a quick answer narrows the range of a slow one', () => {
    const slow = corrected(AGREED, behind(20_000, 8_000));
    expect(slow).toEqual(behind(20_000, 8_000));
    expect(corrected(slow, behind(20_000, 7_000))).toBe(slow);
    expect(corrected(slow, behind(20_000))).toEqual(behind(20_000));
  });

  it('the difference in the Redis key is read as it was written', () => {
    for (const difference of [AGREED, behind(10_000), behind(-90_000)])
      expect(parseDifference(differenceText(difference) || undefined)).toEqual(difference);
    expect(parseDifference('1763542000000@1763542000003+6000')).toBe(AGREED);
  });

  it.each([
    ['10 s behind', 10_000, [9_000, 11_000], [9_000, 11_000]],
    ['10 s ahead', -10_000, [-11_100, -9_000], [-11_100, -9_000]],
    ['10 min behind', 600_000, [-301_100, -299_000], [599_000, 601_100]],
    ['a day behind', DAY_MS, [0, 0], [0, 0]],
    ['a day ahead', -DAY_MS, [0, 0], [0, 0]],
    ['equal', 0, [0, 0], [0, 0]],
  ])('a vendor whose clock is %s shifts its quarters and its days', (_, byMs, ofQuarters, ofDays) => {
    for (const [lengthMs, [least, most]] of [
      [QUARTER_MS, ofQuarters],
      [DAY_MS, ofDays],
    ] as const) {
      const shiftMs = shiftOf(corrected(AGREED, behind(byMs)), lengthMs);
      expect(shiftMs).toBeGreaterThanOrEqual(least as number);
      expect(shiftMs).toBeLessThanOrEqual(most as number);
    }
  });

  it('windows that are hardly longer than a second are not shifted, because a Date has whole seconds', () => {
    expect(shiftOf(behind(10_400), 1_000)).toBe(0);
  });

  it('a call is charged only while the vendor is in the same window, whatever the difference', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: -2 * DAY_MS, max: 2 * DAY_MS }),
        fc.integer({ min: 0, max: DAY_MS }),
        (byMs, laterMs) => {
          const difference = corrected(AGREED, behind(byMs));
          const nowMs = NOW_MS + laterMs;
          const { windows, fromMs, untilMs } = windowsAt(COUNTERS, nowMs, 1, [], difference);
          fc.pre(nowMs >= fromMs && nowMs < untilMs);
          const [quarter, day] = windows;
          for (const [window, seconds] of [
            [quarter, 900],
            [day, 86_400],
          ] as const) {
            const ofVendor = (atMs: number) => windowAt(atMs - byMs, seconds, 1).id;
            // All moments at which calls are charged to this window lie in one window of the vendor.
            expect(ofVendor(nowMs)).toBe(ofVendor(Math.max(fromMs, window!.startsAtMs)));
            expect(ofVendor(nowMs)).toBe(ofVendor(untilMs - 1));
          }
        },
      ),
    );
  });

  it('at least four tenths of a quarter stay open to calls, whatever the difference', () => {
    fc.assert(
      fc.property(fc.integer({ min: -2 * DAY_MS, max: 2 * DAY_MS }), (byMs) => {
        const [ofQuarter] = COUNTERS;
        const at = [ofQuarter!] as const;
        const { fromMs, untilMs } = windowsAt(
          at,
          NOW_MS + QUARTER_MS / 2,
          1,
          [],
          corrected(AGREED, behind(byMs)),
        );
        expect(untilMs - fromMs).toBeGreaterThan(0.4 * QUARTER_MS);
      }),
    );
  });

  it('a 429 of a vendor that is still in its previous window closes ours only until the vendor’s next window', () => {
    const ours = windowAt(NOW_MS, 900, 1);
    const shiftMs = 10_000;
    const early = shifted(ours, shiftMs, ours.startsAtMs + 3_000);
    expect(early.endsAtMs).toBe(ours.startsAtMs + shiftMs);
    expect(shifted(ours, shiftMs, ours.startsAtMs + 60_000).endsAtMs).toBe(ours.endsAtMs + shiftMs);
    expect(shifted(ours, -shiftMs, ours.endsAtMs - 3_000).endsAtMs).toBe(
      ours.endsAtMs - shiftMs + QUARTER_MS,
    );
  });
});
