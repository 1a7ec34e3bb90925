import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { ceiling, strava } from './policy.js';
import { guardMs, windowAt } from './windows.js';

describe('a window', () => {
  it('begins at :00, :15, :30 and :45, a day at midnight UTC', () => {
    const now = Date.parse('2026-11-18T14:29:59.999Z');
    const quarter = windowAt(now, 900, 1);
    expect(new Date(quarter.startsAtMs).toISOString()).toBe('2026-11-18T14:15:00.000Z');
    expect(new Date(quarter.endsAtMs).toISOString()).toBe('2026-11-18T14:30:00.000Z');
    expect(new Date(windowAt(now, 86_400, 1).endsAtMs).toISOString()).toBe('2026-11-19T00:00:00.000Z');
  });

  it('lasts a second at time scale 900, and the 96th of them ends the day', () => {
    const now = Date.parse('2026-11-18T14:29:59.999Z');
    const { startsAtMs, endsAtMs } = windowAt(now, 900, 900);
    expect(endsAtMs - startsAtMs).toBe(1_000);
    const day = windowAt(now, 86_400, 900);
    expect(day.endsAtMs - day.startsAtMs).toBe(96_000);
    expect(windowAt(day.startsAtMs, 900, 900).startsAtMs).toBe(day.startsAtMs);
  });

  it('holds every moment in exactly one', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1.7e12, max: 2e12 }), fc.constantFrom(1, 90, 900), (now, scale) => {
        const window = windowAt(now, 900, scale);
        expect(now).toBeGreaterThanOrEqual(window.startsAtMs);
        expect(now).toBeLessThan(window.endsAtMs);
        expect(windowAt(window.endsAtMs, 900, scale).id).toBe(window.id + 1);
      }),
    );
  });

  it('is guarded for two seconds on either side, scaled, but not below 50 ms', () => {
    expect([guardMs(1), guardMs(10), guardMs(900)]).toEqual([2_000, 200, 50]);
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
    'for %s of a limit of %i leave %i, of a day of %i leave %i',
    (name, limit, window, dayLimit, inDay) => {
      expect(ceiling(limit, quarter![name])).toBe(window);
      expect(ceiling(dayLimit, day![name])).toBe(inDay);
    },
  );
});
