import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { PLACES } from './places.js';
import { formatOffset, momentOfLocal, offsetMinutesAt, stravaTimeZone } from './time-zones.js';

const at = (text: string) => Date.parse(text);

describe('time zones', () => {
  it('offsetMinutesAt changes exactly at the second of the clock change', () => {
    expect(offsetMinutesAt('Europe/Berlin', at('2026-03-29T00:59:59Z'))).toBe(60);
    expect(offsetMinutesAt('Europe/Berlin', at('2026-03-29T01:00:00Z'))).toBe(120);
    expect(offsetMinutesAt('Europe/Berlin', at('2026-10-25T00:59:59Z'))).toBe(120);
    expect(offsetMinutesAt('Europe/Berlin', at('2026-10-25T01:00:00Z'))).toBe(60);
  });

  it('offsetMinutesAt is right for southern summers, half-hour zones and zones without summer time', () => {
    expect(offsetMinutesAt('Australia/Adelaide', at('2026-01-15T00:00:00Z'))).toBe(630);
    expect(offsetMinutesAt('Australia/Adelaide', at('2026-07-15T00:00:00Z'))).toBe(570);
    expect(offsetMinutesAt('Asia/Kolkata', at('2026-07-15T00:00:00Z'))).toBe(330);
    expect(offsetMinutesAt('America/Phoenix', at('2026-07-15T00:00:00Z'))).toBe(-420);
  });

  it('stravaTimeZone prints the standard offset before the zone in summer and in winter', () => {
    expect(stravaTimeZone('Europe/Berlin', at('2026-07-15T00:00:00Z'))).toBe('(GMT+01:00) Europe/Berlin');
    expect(stravaTimeZone('America/Los_Angeles', at('2026-01-15T00:00:00Z'))).toBe(
      '(GMT-08:00) America/Los_Angeles',
    );
    expect(stravaTimeZone('Europe/London', at('2026-07-15T00:00:00Z'))).toBe('(GMT+00:00) Europe/London');
  });

  it('formatOffset writes the sign, hours and minutes', () => {
    expect([0, 330, -210].map(formatOffset)).toEqual(['+00:00', '+05:30', '-03:30']);
  });

  it('momentOfLocal finds the moment of every daytime hour', () => {
    const zones = fc.constantFrom(...PLACES.map((place) => place.timeZone));
    const days = fc.integer({ min: 13_000, max: 21_000 });
    fc.assert(
      fc.property(zones, days, fc.integer({ min: 240, max: 1439 }), (zone, day, minute) => {
        const localMs = day * 86_400_000 + minute * 60_000;
        const ms = momentOfLocal(zone, localMs);
        expect(ms + offsetMinutesAt(zone, ms) * 60_000).toBe(localMs);
      }),
    );
  });
});
