import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { VENDORS } from '#vendors';
import { type Usage } from './rate-headers.js';
import { realigned } from './realigned.js';
import { guardMs, reopensAtMs, windowFrom } from './windows.js';

const counters = VENDORS.polar.limits.counters.slice(0, 1);
const [quarter] = counters;
const GUARD_MS = guardMs(1, counters);
const LENGTH_MS = 900_000;
const ours = windowFrom(0, quarter!, counters, 1);

/** The vendor's report at `nowMs` on its window, with whole seconds rounded by `round`. */
function told(vendorEndsAtMs: number, nowMs: number, round: (seconds: number) => number): Usage[] {
  const resetsInSeconds = round((vendorEndsAtMs - nowMs) / 1_000);
  return [{ bucket: 'read', window: '15min', limit: 500, used: 1, resetsInSeconds }];
}

describe('a window that begins with a request, after its first answer', () => {
  const rounding = fc.constantFrom(Math.ceil, Math.floor, Math.round);
  const delay = fc.integer({ min: 0, max: 9_000 });

  it('a realigned window ends no later than the vendor’s, and the next one begins no earlier than the vendor’s next (model)', () => {
    const first = fc.record({
      // Our clock lags behind by the time that Redis' last reply took.
      lagMs: fc.integer({ min: 0, max: GUARD_MS }),
      // When the vendor received the request that began its window: late, or long after ours began, because earlier requests were lost.
      beganMs: fc.oneof(delay, fc.integer({ min: 0, max: LENGTH_MS - 10_000 })),
      // Between then and the answered call, further calls may have begun nothing.
      laterMs: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 100_000 })),
      travelMs: delay,
      backMs: delay,
      round: rounding,
    });
    fc.assert(
      fc.property(first, ({ beganMs, laterMs, travelMs, backMs, lagMs, round }) => {
        const receivedMs = beganMs + laterMs;
        const chargedMs = Math.max(0, receivedMs - travelMs);
        fc.pre(chargedMs < LENGTH_MS - 2 * GUARD_MS);
        const vendorEndsAtMs = beganMs + LENGTH_MS;
        const answeredAtMs = receivedMs + backMs;
        const usage = told(vendorEndsAtMs, receivedMs, round);
        const [window] = realigned(counters, {
          windows: [ours],
          nowMs: chargedMs,
          answeredAtMs: Math.max(chargedMs, answeredAtMs - lagMs),
          usage,
          guardMs: GUARD_MS,
        });
        expect(window!.endsAtMs).toBeLessThanOrEqual(vendorEndsAtMs);
        expect(reopensAtMs(window!, GUARD_MS)).toBeGreaterThanOrEqual(vendorEndsAtMs);
      }),
      { numRuns: 2_000 },
    );
  });

  it.each([
    ['without counts shows nothing', [], true],
    ['with counts and no reset shows the latest end', told(0, 0, () => NaN), false],
  ] as const)('an answer %s', (_, usage, isUnchanged) => {
    const usages = usage.map((one) => ({ ...one, resetsInSeconds: undefined }));
    const answered = { windows: [ours], nowMs: 0, answeredAtMs: 700, usage: usages, guardMs: GUARD_MS };
    const expected = isUnchanged ? ours : { ...ours, lateMs: 2_700, isAnswered: true };
    expect(realigned(counters, answered)).toEqual([expected]);
  });

  it('an answer that reports our own end keeps it, although our clock lags behind when the answer comes', () => {
    const known = { ...ours, lateMs: 2_000, isAnswered: true };
    const usage = told(LENGTH_MS, 6_001, Math.floor);
    const answered = { windows: [known], nowMs: 5_050, answeredAtMs: 5_999, usage, guardMs: GUARD_MS };
    expect(realigned(counters, answered)).toEqual([known]);
  });

  it('the first answer moves a window whose earlier requests were lost, also in its last seconds', () => {
    const beganMs = LENGTH_MS - 4_196;
    const [window] = realigned(counters, {
      windows: [ours],
      nowMs: beganMs,
      answeredAtMs: beganMs + 304,
      usage: told(beganMs + LENGTH_MS, beganMs, Math.ceil),
      guardMs: GUARD_MS,
    });
    expect(window!.endsAtMs).toBeLessThanOrEqual(beganMs + LENGTH_MS);
    expect(reopensAtMs(window!, GUARD_MS)).toBeGreaterThanOrEqual(beganMs + LENGTH_MS);
  });

  it('a call that the vendor counted in the window after an answered one changes nothing', () => {
    const known = { ...ours, lateMs: 2_700, isAnswered: true };
    const nextEndsAtMs = LENGTH_MS + 3_000 + LENGTH_MS;
    const answered = {
      windows: [known],
      nowMs: LENGTH_MS - 5_000,
      answeredAtMs: LENGTH_MS + 4_000,
      usage: told(nextEndsAtMs, LENGTH_MS + 3_000, Math.round),
      guardMs: GUARD_MS,
    };
    expect(realigned(counters, answered)).toEqual([known]);
  });
});
