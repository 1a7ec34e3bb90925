import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { type Gauge } from './counters.js';
import { eta } from './eta.js';
import { type CallClass, type CounterPolicy, strava, type VendorPolicy } from './policy.js';
import { windowAt } from './windows.js';

const gaugesAt = (policy: VendorPolicy, now: Date, scale: number, used: readonly number[] = []): Gauge[] =>
  policy.counters.map(({ bucket, window, seconds, limit }, index) => {
    const spent = used[index] ?? 0;
    const resetsAt = new Date(windowAt(now.getTime(), seconds, scale).endsAtMs);
    return { bucket, window, limit, used: spent, remaining: Math.max(0, limit - spent), resetsAt };
  });

describe('when the rest will have arrived', () => {
  const now = new Date('2026-11-18T14:20:00Z');
  const at = (calls: number, callClass: CallClass, used: readonly number[] = []) =>
    eta(calls, now, {
      policy: strava,
      gauges: gaugesAt(strava, now, 1, used),
      class: callClass,
      scale: 1,
    })?.toISOString();

  it.each([
    ['at once, where the window has room', 95, 'import', [], '2026-11-18T14:20:00.000Z'],
    ['with the next window', 96, 'import', [], '2026-11-18T14:30:02.000Z'],
    ['with the window after it, for a class that yields', 163, 'backfill', [], '2026-11-18T14:45:02.000Z'],
    ['after ten windows, where the day has that much', 950, 'import', [], '2026-11-18T16:30:02.000Z'],
    ['with the release, where it has not', 951, 'import', [], '2026-11-18T23:45:02.000Z'],
    ['the next day, after the release', 1_001, 'import', [], '2026-11-19T00:00:02.000Z'],
    ['the next day, where nothing is left to release', 1, 'import', [0, 1_000], '2026-11-19T00:00:02.000Z'],
    ['with the release, where live calls used the day', 50, 'import', [0, 950], '2026-11-18T23:45:02.000Z'],
    ['after days', 10_000, 'import', [], '2026-11-27T23:45:02.000Z'],
  ] as const)('%s', (_, calls, callClass, used, expected) => {
    expect(at(calls, callClass, used)).toBe(expected);
  });

  it('waits for a closed window, and for a boundary to pass', () => {
    const [first, ...rest] = gaugesAt(strava, now, 1);
    const closed = [{ ...first!, closedUntil: new Date('2026-11-18T14:30:00Z') }, ...rest];
    const outlook = { policy: strava, gauges: closed, class: 'live', scale: 1 } as const;
    expect(eta(1, now, outlook)).toEqual(new Date('2026-11-18T14:30:02Z'));
    const near = new Date('2026-11-18T14:29:57Z');
    expect(eta(1, near, { ...outlook, gauges: gaugesAt(strava, near, 1) })).toEqual(
      new Date('2026-11-18T14:30:02Z'),
    );
  });

  it('is now for nothing, and unknown where the limits never allow it', () => {
    expect(at(0, 'import')).toBe(now.toISOString());
    const gauges = gaugesAt(strava, now, 1).map((gauge) => ({ ...gauge, limit: 0 }));
    expect(eta(1, now, { policy: strava, gauges, class: 'live', scale: 1 })).toBeUndefined();
  });

  it('is worked out at once also for a hundred thousand activities', () => {
    const before = process.cpuUsage();
    expect(at(300_000, 'backfill')).toMatch(/^2027-/);
    expect(process.cpuUsage(before).user / 1_000).toBeLessThan(500);
  });

  it('agrees with trying it, call by call and step by step', () => {
    const aCounter = (seconds: number, releasedForLastSeconds: number) =>
      fc
        .record({
          limit: fc.integer({ min: 1, max: 12 }),
          percent: fc.integer({ min: 0, max: 40 }),
          atMost: fc.integer({ min: 0, max: 4 }),
          withItself: fc.boolean(),
        })
        .map(({ limit, ...reserve }) => ({
          ...strava.counters[0]!,
          seconds,
          releasedForLastSeconds,
          limit,
          reserve: { live: reserve, import: reserve, backfill: reserve },
        }));
    const scenario = fc.record({
      counters: fc.tuple(aCounter(900, 0), aCounter(5 * 900, 900), aCounter(900, 300), aCounter(5 * 900, 0)),
      used: fc.tuple(fc.nat(10), fc.nat(12), fc.nat(10), fc.nat(12)),
      calls: fc.integer({ min: 1, max: 60 }),
      startMs: fc.integer({ min: 1_763_000_000_000, max: 1_763_000_020_000 }),
    });
    fc.assert(
      fc.property(scenario, ({ counters, used, calls, startMs }) => {
        const policy: VendorPolicy = { ...strava, counters };
        const now = new Date(startMs);
        const gauges = gaugesAt(policy, now, SCALE, used);
        const worked = eta(calls, now, { policy, gauges, class: 'import', scale: SCALE });
        const tried = tryIt(counters, used, calls, startMs);
        if (tried === undefined)
          expect(worked === undefined || worked.getTime() > startMs + TRIED_MS).toBe(true);
        else expect(Math.abs((worked?.getTime() ?? 0) - tried)).toBeLessThanOrEqual(GUARD_MS + STEP_MS);
      }),
      { numRuns: 300 },
    );
  });
});

const SCALE = 900;
const GUARD_MS = 50;
const STEP_MS = 10;
const TRIED_MS = 100_000;

/** Asks every 10 ms, near no boundary, for one call after the other. Windows last a second, days five. */
function tryIt(
  counters: readonly CounterPolicy[],
  usedAtStart: readonly number[],
  calls: number,
  startMs: number,
): number | undefined {
  const spent = counters.map(({ seconds }, index) => ({
    id: Math.floor((startMs * SCALE) / (seconds * 1_000)),
    used: usedAtStart[index] ?? 0,
  }));
  let made = 0;
  for (let nowMs = startMs; nowMs < startMs + TRIED_MS; nowMs += STEP_MS) {
    const intoWindowMs = nowMs % 1_000;
    if (intoWindowMs < GUARD_MS || intoWindowMs >= 1_000 - 2 * GUARD_MS) continue;
    counters.forEach(({ seconds }, index) => {
      const id = Math.floor((nowMs * SCALE) / (seconds * 1_000));
      if (spent[index]!.id !== id) spent[index] = { id, used: 0 };
    });
    const fits = () =>
      counters.every(({ seconds, limit, reserve, releasedForLastSeconds }, index) => {
        const leftSeconds = seconds - (((nowMs * SCALE) / 1_000) % seconds);
        const { percent, atMost, withItself } = reserve.import;
        const kept = Math.min(atMost, Math.ceil((limit * percent) / 100)) - (withItself ? 1 : 0);
        return spent[index]!.used < (leftSeconds <= releasedForLastSeconds ? limit : limit - kept);
      });
    while (fits()) {
      made += 1;
      if (made === calls) return nowMs;
      for (const counter of spent) counter.used += 1;
    }
  }
  return undefined;
}
