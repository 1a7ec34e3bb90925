import { describe, expect, it } from '@jest/globals';
import { type CounterPolicy, strava } from './policy.js';
import { ceilingAt, opensAtMs } from './shares.js';
import { windowAt } from './windows.js';

const [, day] = strava.counters as [CounterPolicy, CounterPolicy];
const at = (time: string) => Date.parse(`2026-11-18T${time}Z`);
const today = windowAt(at('12:00:00'), day.seconds, 1);
const midnight = Date.parse('2026-11-19T00:00:00Z');

describe('the day at Strava', () => {
  it.each([
    ['import', '12:00:00', 950],
    ['import', '23:44:59', 950],
    ['import', '23:45:00', 1_000],
    ['backfill', '23:45:00', 1_000],
    ['live', '12:00:00', 1_000],
  ] as const)('gives %s at %s %i calls', (callClass, time, most) => {
    expect(ceilingAt(day, 1_000, callClass, today, at(time), 1)).toBe(most);
  });

  it.each([
    ['at its release, where live calls have left something', 950, '12:00:00', at('23:45:00')],
    ['at its end, where they have not', 1_000, '12:00:00', midnight],
    ['at its end, once the release has been', 1_000, '23:50:00', midnight],
  ] as const)('opens again %s', (_, used, time, opens) => {
    expect(opensAtMs(day, used, 1_000, today, at(time), 1)).toBe(opens);
  });
});
