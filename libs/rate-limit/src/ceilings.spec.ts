import { describe, expect, it } from '@jest/globals';
import { VENDORS } from '#vendors';
import { type CounterPolicy } from './policy.js';
import { ceilingAt, opensAtMs } from './ceilings.js';
import { windowAt } from './windows.js';

const strava = VENDORS.strava.limits;

const [, day] = strava.counters as [CounterPolicy, CounterPolicy];
const at = (time: string) => Date.parse(`2026-11-18T${time}Z`);
const today = windowAt(at('12:00:00'), day.seconds, 1);
const midnight = Date.parse('2026-11-19T00:00:00Z');

describe('the ceiling of Strava’s day', () => {
  it.each([
    ['import', '12:00:00', 950],
    ['import', '23:44:59', 950],
    ['import', '23:45:00', 1_000],
    ['backfill', '23:45:00', 1_000],
    ['live', '12:00:00', 1_000],
  ] as const)('Strava’s day gives class %s at %s a ceiling of %i calls', (callClass, time, most) => {
    expect(ceilingAt(day, 1_000, callClass, today, at(time), 1)).toBe(most);
  });

  it.each([
    ['at the release of the reserve if calls are left', 950, '12:00:00', at('23:45:00')],
    ['at midnight if no call is left', 1_000, '12:00:00', midnight],
    ['at midnight after the release', 1_000, '23:50:00', midnight],
  ] as const)('Strava’s full day opens again %s', (_, used, time, opens) => {
    expect(opensAtMs(day, used, 1_000, today, at(time), 1)).toBe(opens);
  });
});
