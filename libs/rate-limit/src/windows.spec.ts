import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { VENDORS } from '#vendors';
import { ceiling } from './ceilings.js';
import { beginsWithRequest } from './policy.js';
import {
  BOUNDARY_WAIT_MS,
  chargeableFromMs,
  freshMs,
  guardMs,
  LOOK_FOR_DUE_MS,
  straddledAt,
  windowAt,
  windowsAt,
} from './windows.js';

const strava = VENDORS.strava.limits;
const polar = VENDORS.polar.limits;

describe('windowAt', () => {
  it('a 15-minute window begins at :00, :15, :30 or :45, a day at midnight UTC', () => {
    const now = Date.parse('2026-11-18T14:29:59.999Z');
    const quarter = windowAt(now, 900, 1);
    expect(new Date(quarter.startsAtMs).toISOString()).toBe('2026-11-18T14:15:00.000Z');
    expect(new Date(quarter.endsAtMs).toISOString()).toBe('2026-11-18T14:30:00.000Z');
    expect(new Date(windowAt(now, 86_400, 1).endsAtMs).toISOString()).toBe('2026-11-19T00:00:00.000Z');
  });

  it('a 15-minute window lasts a second at time scale 900, and a day 96 s', () => {
    const now = Date.parse('2026-11-18T14:29:59.999Z');
    const { startsAtMs, endsAtMs } = windowAt(now, 900, 900);
    expect(endsAtMs - startsAtMs).toBe(1_000);
    const day = windowAt(now, 86_400, 900);
    expect(day.endsAtMs - day.startsAtMs).toBe(96_000);
    expect(windowAt(day.startsAtMs, 900, 900).startsAtMs).toBe(day.startsAtMs);
  });

  it('every moment lies in exactly one window', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1.7e12, max: 2e12 }), fc.constantFrom(1, 90, 900), (now, scale) => {
        const window = windowAt(now, 900, scale);
        expect(now).toBeGreaterThanOrEqual(window.startsAtMs);
        expect(now).toBeLessThan(window.endsAtMs);
        expect(windowAt(window.endsAtMs, 900, scale).id).toBe(window.id + 1);
      }),
    );
  });

  it('the guard around a window boundary is two seconds, scaled, and at least 50 ms', () => {
    expect([guardMs(1), guardMs(10), guardMs(900)]).toEqual([2_000, 200, 50]);
  });

  it('a permit stays fresh for one guard, and for 50 ms where TIME_SCALE makes a window shorter than 400 ms', () => {
    const { counters } = VENDORS.whoop.limits;
    expect([1, 40, 900, 10_000].map((scale) => freshMs(guardMs(scale, counters)))).toEqual([
      2_000, 50, 50, 50,
    ]);
  });

  it('a call at any moment around a boundary gets past it within BOUNDARY_WAIT_MS, with a second to spare', () => {
    const midnight = Date.parse('2026-11-19T00:00:00.000Z');
    for (const { limits } of Object.values(VENDORS)) {
      const counters = limits.counters.filter((counter) => !beginsWithRequest(counter));
      if (counters.length === 0) continue;
      const guard = guardMs(1, counters);
      for (let nowMs = midnight - 10_000; nowMs < midnight + 10_000; nowMs += 50) {
        const delayMs = chargeableFromMs(nowMs, windowsAt(counters, nowMs, 1), guard) - nowMs;
        expect(delayMs + 1_000).toBeLessThanOrEqual(BOUNDARY_WAIT_MS);
      }
    }
  });

  it('at most two of ten looks for due work in a row meet a boundary of a window, whenever the first look was', () => {
    const midnight = Date.parse('2026-11-19T00:00:00.000Z');
    for (const { limits } of Object.values(VENDORS)) {
      const counters = limits.counters.filter((counter) => !beginsWithRequest(counter));
      if (counters.length === 0) continue;
      for (let firstMs = midnight; firstMs < midnight + 900_000; firstMs += 500) {
        const looks = Array.from({ length: 10 }, (_, index) => firstMs + index * LOOK_FOR_DUE_MS);
        const delayed = looks.filter(
          (nowMs) => chargeableFromMs(nowMs, windowsAt(counters, nowMs, 1), guardMs(1, counters)) > nowMs,
        );
        expect(delayed.length).toBeLessThanOrEqual(2);
      }
    }
  });
});

describe('windows that begin with a request', () => {
  const { counters } = polar;
  const START = Date.parse('2026-11-18T14:07:13.500Z');
  const begun = windowsAt(counters, START, 1).windows;

  it('without open windows, both windows begin now and end 15 minutes and 24 hours later', () => {
    const { windows, areNew } = windowsAt(counters, START, 1);
    expect(areNew).toEqual([true, true]);
    expect(windows.map(({ endsAtMs }) => endsAtMs - START)).toEqual([900_000, 86_400_000]);
  });

  it.each([
    ['open, 15 minutes less two guards after the first call', 896_000 - 1, 0],
    ['guarded from two guards before the end', 896_000, 10_000],
    ['guarded until three guards after the end', 906_000 - 1, 1],
    ['over, and the next one may begin, three guards after the end', 906_000, 0],
  ])('a window is %s', (_, afterMs, delayMs) => {
    const nowMs = START + afterMs;
    const current = windowsAt(counters, nowMs, 1, begun);
    expect(chargeableFromMs(nowMs, current, guardMs(1, counters)) - nowMs).toBe(delayMs);
    expect(current.areNew).toEqual([afterMs >= 906_000, false]);
  });

  it('calls go on in an open window that a request began, also if the clock goes back by a day', () => {
    const nowMs = START - 86_400_000;
    const current = windowsAt(counters, nowMs, 1, begun);
    expect(chargeableFromMs(nowMs, current, guardMs(1, counters))).toBe(nowMs);
    expect(current.areNew).toEqual([false, false]);
  });

  it('a new window never has the id of the one before, also if the clock goes back', () => {
    const [first] = begun;
    const ended = { ...first!, endsAtMs: START - 20_000 };
    expect(windowsAt(counters, START - 1, 1, [ended]).windows[0]!.id).toBe(first!.id + 1);
  });
});

describe('the ceilings at Strava', () => {
  const [quarter, day] = strava.counters.map(({ reserve }) => reserve);
  it.each([
    ['live', 100, 100, 1_000, 1_000],
    ['import', 100, 95, 1_000, 950],
    ['backfill', 100, 81, 1_000, 950],
    ['backfill', 200, 181, 2_000, 1_900],
    ['backfill', 50, 41, 500, 475],
  ] as const)(
    'Strava’s ceiling for %s calls: with a window limit of %i it is %i, with a day limit of %i it is %i',
    (name, limit, window, dayLimit, inDay) => {
      expect(ceiling(limit, quarter![name])).toBe(window);
      expect(ceiling(dayLimit, day![name])).toBe(inDay);
    },
  );
});

describe('straddledAt', () => {
  const scales = fc.constantFrom(1, 90, 900, 1_800);
  const moments = fc.integer({ min: 1.7e12, max: 2e12 });
  const vendors = fc.constantFrom(strava, VENDORS.oura.limits, VENDORS.whoop.limits);

  it('a call that straddles is charged to each window in which a vendor whose clock is a guard off may count it', () => {
    fc.assert(
      fc.property(
        vendors,
        moments,
        scales,
        fc.double({ min: -1, max: 2, noNaN: true }),
        (vendor, now, scale, off) => {
          const { counters } = vendor;
          const { windows, neighbours } = straddledAt(counters, now, scale);
          // The request arrives within a guard, and the clocks differ by a guard.
          const seenAtMs = now + off * guardMs(scale, counters) * 0.999;
          for (const [index, { seconds }] of counters.entries()) {
            const charged = [windows[index]?.id, neighbours[index]?.id];
            expect(charged).toContain(windowAt(seenAtMs, seconds, scale).id);
          }
        },
      ),
    );
  });

  it('straddledAt has the windows of windowsAt and no neighbour while no boundary is near, and is valid at its own moment', () => {
    fc.assert(
      fc.property(vendors, moments, scales, ({ counters }, now, scale) => {
        const plain = windowsAt(counters, now, scale);
        const straddled = straddledAt(counters, now, scale);
        expect(straddled.windows).toEqual(plain.windows);
        const isClear = now >= plain.fromMs && now < plain.untilMs;
        expect(straddled.neighbours.every((window) => window === undefined)).toBe(isClear);
        expect(now).toBeGreaterThanOrEqual(straddled.fromMs);
        expect(now).toBeLessThan(straddled.untilMs);
      }),
    );
  });

  it('straddledAt charges windows that begin with a request as windowsAt does', () => {
    const now = Date.parse('2026-11-18T14:29:59.999Z');
    const { neighbours, ...straddled } = straddledAt(polar.counters, now, 1);
    expect(straddled).toEqual(windowsAt(polar.counters, now, 1));
    expect(neighbours).toEqual([undefined, undefined]);
  });
});
