import { describe, expect, it } from '@jest/globals';
import { listedSince, reachOf } from './reach.js';

const NOW = new Date('2026-11-19T08:00:00Z');

it('a vendor that lists 28 days lists no night from before these days, and another vendor lists all nights', () => {
  expect(listedSince({ listedDays: 28 }, NOW)).toBe('2026-10-22');
  expect(listedSince({}, NOW)).toBe('');
});

describe('reachOf', () => {
  it('reaches back to the first date if the vendor has all records', () => {
    expect('0001-01-01' > reachOf({}, '2026-11-18 12:00:00.123456+00', NOW)).toBe(true);
  });

  it('reaches back two days less than the vendor lists, and not to the days around the connection', () => {
    const reach = (connectedAt: string) => reachOf({ listedDays: 28 }, connectedAt, NOW);
    expect(reach('2026-01-01 12:00:00.123456+00')).toBe('2026-10-24');
    expect(reach('2026-11-10 12:00:00.123456+00')).toBe('2026-11-12');
  });
});
