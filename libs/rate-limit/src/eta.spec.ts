import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { VENDORS } from '#vendors';
import { type Gauge } from './counters.js';
import { eta } from './eta.js';
import { type CallClass, type CounterPolicy, type VendorPolicy } from './policy.js';
import { windowAt } from './windows.js';

const strava = VENDORS.strava.limits;

// This policy has no shares of the day; other tests cover these shares.
const unshared: VendorPolicy = { ...strava, shares: {} };

const gaugesAt = (policy: VendorPolicy, now: Date, scale: number, used: readonly number[] = []): Gauge[] =>
  policy.counters.map(({ bucket, window, seconds, limit }, index) => {
    const spent = used[index] ?? 0;
    const resetsAt = new Date(windowAt(now.getTime(), seconds, scale).endsAtMs);
    return { bucket, window, limit, used: spent, remaining: Math.max(0, limit - spent), resetsAt };
  });

describe('eta with windows that begin with a request', () => {
  const now = new Date('2026-11-18T14:07:00Z');
  const { polar } = VENDORS;
  const at = (calls: number, [quarter, day]: readonly [number, number], resetsIn = [600, 3_600]) =>
    eta(calls, now, {
      policy: polar.limits,
      gauges: polar.limits.counters.map(({ bucket, window, limit }, index) => {
        const used = [quarter, day][index] ?? 0;
        const resetsAt = new Date(now.getTime() + (resetsIn[index] ?? 0) * 1_000);
        return { bucket, window, limit, used, remaining: limit - used, resetsAt };
      }),
      class: 'live',
      scale: 1,
    })?.toISOString();

  it.each([
    ['now, if both windows have that many calls left', 480, [20, 20], '2026-11-18T14:07:00.000Z'],
    ['after the open window, which a request began', 481, [20, 20], '2026-11-18T14:17:06.000Z'],
    ['one length after the next window begins', 981, [20, 20], '2026-11-18T14:32:12.000Z'],
    ['after the open day if it has no call left', 1, [20, 5_000], '2026-11-18T15:07:06.000Z'],
  ] as const)('eta at Polar is %s', (_, calls, used, expected) => {
    expect(at(calls, used)).toBe(expected);
  });
});

describe('eta', () => {
  const now = new Date('2026-11-18T14:20:00Z');
  const at = (calls: number, callClass: CallClass, used: readonly number[] = [], policy = unshared) =>
    eta(calls, now, {
      policy,
      gauges: gaugesAt(strava, now, 1, used),
      class: callClass,
      scale: 1,
    })?.toISOString();

  it.each([
    ['now, if the window has that many calls left', 95, 'import', [], '2026-11-18T14:20:00.000Z'],
    ['the next window', 96, 'import', [], '2026-11-18T14:30:02.000Z'],
    ['the window after next for a backfill, which yields', 163, 'backfill', [], '2026-11-18T14:45:02.000Z'],
    ['ten windows later, within the day’s ceiling', 950, 'import', [], '2026-11-18T16:30:02.000Z'],
    ['the release of the reserve, above the day’s ceiling', 951, 'import', [], '2026-11-18T23:45:02.000Z'],
    ['the next day, above the day’s limit', 1_001, 'import', [], '2026-11-19T00:00:02.000Z'],
    ['the next day, if live calls used the whole day', 1, 'import', [0, 1_000], '2026-11-19T00:00:02.000Z'],
    ['the release, if live calls left only the reserve', 50, 'import', [0, 950], '2026-11-18T23:45:02.000Z'],
    ['ten days later for 10,000 calls', 10_000, 'import', [], '2026-11-27T23:45:02.000Z'],
  ] as const)('eta is %s', (_, calls, callClass, used, expected) => {
    expect(at(calls, callClass, used)).toBe(expected);
  });

  it.each([
    // The share makes one call per 16 min 22 s: none before the window of 14:45, then one in nearly every window.
    ['now, if the window has that many calls left', 95, 'import', '2026-11-18T14:20:00.000Z'],
    ['the next window', 190, 'import', '2026-11-18T14:30:02.000Z'],
    ['one window later, once the share used a call', 285, 'import', '2026-11-18T15:00:02.000Z'],
    ['one window later for a backfill as well', 243, 'backfill', '2026-11-18T15:00:02.000Z'],
    ['the release, once the share used calls of the day', 950, 'import', '2026-11-18T23:45:02.000Z'],
  ] as const)('eta with the reconciliation’s share of the day is %s', (_, calls, callClass, expected) => {
    expect(at(calls, callClass, [], strava)).toBe(expected);
  });

  it('eta assumes that a share of the day uses at most its tenth, over a hundred days', () => {
    const days = 100;
    const calls = days * 1_000;
    const daysFor = (policy: VendorPolicy) =>
      (Date.parse(at(calls, 'backfill', [], policy) ?? '') - now.getTime()) / 86_400_000;
    expect(daysFor(unshared)).toBeCloseTo(days, -0.5);
    expect(daysFor(strava)).toBeGreaterThan(daysFor(unshared));
    expect(daysFor(strava)).toBeLessThanOrEqual(daysFor(unshared) / 0.9 + 1);
  });

  it('eta is found although a share could use as many calls as the windows allow', () => {
    const gauges = gaugesAt(strava, now, 1).map((gauge) =>
      gauge.window === '15min' ? { ...gauge, limit: 2 } : gauge,
    );
    expect(eta(50, now, { policy: strava, gauges, class: 'backfill', scale: 1 })).toBeDefined();
  });

  it('eta waits for a closed window to open and for a boundary to pass', () => {
    const [first, ...rest] = gaugesAt(strava, now, 1);
    const closed = [{ ...first!, closedUntil: new Date('2026-11-18T14:30:00Z') }, ...rest];
    const outlook = { policy: strava, gauges: closed, class: 'live', scale: 1 } as const;
    expect(eta(1, now, outlook)).toEqual(new Date('2026-11-18T14:30:02Z'));
    const near = new Date('2026-11-18T14:29:57Z');
    expect(eta(1, near, { ...outlook, gauges: gaugesAt(strava, near, 1) })).toEqual(
      new Date('2026-11-18T14:30:02Z'),
    );
  });

  it('eta is now for no calls, and undefined for a call that the limits never allow', () => {
    expect(at(0, 'import')).toBe(now.toISOString());
    const gauges = gaugesAt(strava, now, 1).map((gauge) => ({ ...gauge, limit: 0 }));
    expect(eta(1, now, { policy: strava, gauges, class: 'live', scale: 1 })).toBeUndefined();
  });

  it('eta of 300,000 calls takes less than half a second of CPU time', () => {
    const before = process.cpuUsage();
    expect(at(300_000, 'backfill')).toMatch(/^2027-/);
    expect(process.cpuUsage(before).user / 1_000).toBeLessThan(500);
  });

  it('eta agrees with a simulation that tries calls every 10 ms', () => {
    const aCounter = (seconds: number, releasedForLastSeconds: number) =>
      fc
        .record({
          limit: fc.integer({ min: 1, max: 12 }),
          percent: fc.integer({ min: 0, max: 40 }),
          atMost: fc.integer({ min: 0, max: 4 }),
          countsThisCall: fc.boolean(),
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
        const policy: VendorPolicy = { ...unshared, counters };
        const now = new Date(startMs);
        const gauges = gaugesAt(policy, now, SCALE, used);
        const estimated = eta(calls, now, { policy, gauges, class: 'import', scale: SCALE });
        const tried = simulate(counters, used, calls, startMs);
        if (tried === undefined)
          expect(estimated === undefined || estimated.getTime() > startMs + TRIED_MS).toBe(true);
        else expect(Math.abs((estimated?.getTime() ?? 0) - tried)).toBeLessThanOrEqual(GUARD_MS + STEP_MS);
      }),
      { numRuns: 300 },
    );
  });
});

const SCALE = 900;
const GUARD_MS = 50;
const STEP_MS = 10;
const TRIED_MS = 100_000;

/** Makes all calls that fit every 10 ms, except near a boundary. Windows last one second, days five seconds. */
function simulate(
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
        const { percent, atMost, countsThisCall } = reserve.import;
        const kept = Math.min(atMost, Math.ceil((limit * percent) / 100)) - (countsThisCall ? 1 : 0);
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
