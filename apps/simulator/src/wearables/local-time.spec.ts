import { describe, expect, it } from '@jest/globals';
import { localDay, isoWithOffset, momentOf, nextDay } from './local-time.js';

const at = Date.parse('2026-11-17T20:58:30.000Z');

describe('local time', () => {
  it('isoWithOffset writes a moment with the offset of the place', () => {
    expect(isoWithOffset(at, 120)).toBe('2026-11-17T22:58:30.000+02:00');
    expect(isoWithOffset(at, -210)).toBe('2026-11-17T17:28:30.000-03:30');
  });

  it('localDay takes the day from the local clock, and nextDay crosses the end of a year', () => {
    expect(localDay(Date.parse('2026-11-17T23:30:00Z'), 60)).toBe('2026-11-18');
    expect(nextDay('2026-12-31')).toBe('2027-01-01');
  });

  it.each([
    ['2026-11-18', 'Europe/Helsinki', '2026-11-18T04:40:00.000Z'],
    ['2026-07-01', 'America/New_York', '2026-07-01T10:40:00.000Z'],
    ['2026-10-25', 'Europe/Berlin', '2026-10-25T05:40:00.000Z'],
    ['2026-11-18', 'UTC', '2026-11-18T06:40:00.000Z'],
  ])('momentOf finds 06:40 on %s in %s', (day, timeZone, expected) => {
    expect(new Date(momentOf(day, 400, timeZone)).toISOString()).toBe(expected);
  });
});
