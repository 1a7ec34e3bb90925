import { describe, expect, it } from '@jest/globals';
import { toOuraDailySleep, toOuraSleep } from './sleep-document.js';

const sleep = {
  id: '6f1c9a52-0d5e-4b0e-9a3e-3b1f6c2d7e11',
  meta: { updated_at: '2026-11-18T06:29:58.120Z', version: 1 },
  day: '2026-11-18',
  bedtime_start: '2026-11-17T22:58:30.000+02:00',
  bedtime_end: '2026-11-18T06:41:00.000+02:00',
  type: 'long_sleep',
  period: 0,
  time_in_bed: 27_750,
  total_sleep_duration: 24_930,
  low_battery_alert: false,
};
const daily = toOuraDailySleep({
  id: '9f5c',
  meta: { updated_at: '2026-11-18T06:30:01.000Z', version: 1 },
  day: '2026-11-18',
  score: 82,
  timestamp: '2026-11-18T00:00:00.000+02:00',
  contributors: {},
});

describe('toOuraSleep', () => {
  it('combines a sleep of Oura with its day’s score, in whole minutes, with the later `updatedAt` of the two documents', () => {
    expect(toOuraSleep(sleep, daily)).toEqual({
      id: sleep.id,
      date: '2026-11-18',
      durationMinutes: 416,
      qualityScore: 82,
      nap: false,
      state: 'scored',
      revision: 1,
      updatedAt: new Date('2026-11-18T06:30:01.000Z'),
      document: sleep,
    });
  });

  it('toOuraSleep returns no score if the score is missing or belongs to another day', () => {
    expect(toOuraSleep(sleep)).toMatchObject({ qualityScore: null, state: 'scored' });
    expect(toOuraSleep(sleep, { ...daily, day: '2026-11-17' }).qualityScore).toBeNull();
    expect(toOuraSleep(sleep, { ...daily, score: null }).qualityScore).toBeNull();
  });

  it.each([
    ['long_sleep', false, 'scored'],
    ['sleep', true, 'scored'],
    ['late_nap', true, 'scored'],
    [null, false, 'scored'],
    ['rest', true, 'deleted'],
    ['deleted', true, 'deleted'],
  ])('reads a sleep of Oura of type %j as nap %j and %s', (type, nap, state) => {
    expect(toOuraSleep({ ...sleep, type })).toMatchObject({ nap, state });
  });

  it('reads a sleep of Oura without a type as a nap if it lasts at most three hours', () => {
    expect(toOuraSleep({ ...sleep, type: null, total_sleep_duration: 10_800 }).nap).toBe(true);
    expect(toOuraSleep({ ...sleep, type: undefined, total_sleep_duration: 10_801 }).nap).toBe(false);
  });

  it('reads a sleep of Oura without a duration as pending', () => {
    expect(toOuraSleep({ ...sleep, total_sleep_duration: null }).state).toBe('pending');
  });

  it('throws for a sleep of Oura with an invalid day or without meta', () => {
    expect(() => toOuraSleep({ ...sleep, day: '2026-02-30' })).toThrow();
    expect(() => toOuraSleep({ ...sleep, meta: undefined })).toThrow();
  });
});
