import { describe, expect, it } from '@jest/globals';
import { nightsIn, toNight } from './night.js';

const NIGHT = {
  polar_user: 'https://www.polaraccesslink/v3/users/1',
  date: '2026-11-18',
  sleep_start_time: '2026-11-17T22:39:07+02:00',
  sleep_end_time: '2026-11-18T06:49:07+02:00',
  device_id: '1111AAAA',
  light_sleep: 14_400,
  deep_sleep: 6_600,
  rem_sleep: 6_000,
  unrecognized_sleep_stage: 600,
  total_interruption_duration: 1_800,
  sleep_score: 78,
  hypnogram: { '22:39': 3 },
  heart_rate_samples: { '22:41': 52 },
};

describe('toNight', () => {
  it('adds up the stages of a Polar night, the unrecognized one included', () => {
    expect(toNight(NIGHT)).toEqual({
      id: '2026-11-18',
      revision: 0,
      nap: false,
      state: 'scored',
      date: '2026-11-18',
      durationMinutes: 460,
      qualityScore: 78,
      updatedAt: null,
      document: NIGHT,
    });
  });

  it.each([
    // An example of Polar starts and ends on one day.
    ['2020-01-01', '2020-01-01T09:19:37+03:00', '2020-01-01'],
    // A device that dates a night by its evening.
    ['2026-11-17', '2026-11-18T06:49:07+02:00', '2026-11-18'],
    ['2026-11-18', '2026-11-18T23:30:00-11:00', '2026-11-18'],
    ['2026-11-18', null, '2026-11-18'],
  ])(
    'names the Polar night of %s that ends at %s by its date, and dates it %s',
    (date, sleep_end_time, day) => {
      expect(toNight({ ...NIGHT, date, sleep_end_time })).toMatchObject({ id: date, date: day });
    },
  );

  it.each([[0], [-1], [null], [undefined], [101]])(
    'has no score for a Polar night with %s',
    (sleep_score) => {
      expect(toNight({ ...NIGHT, sleep_score })).toMatchObject({ qualityScore: null, state: 'scored' });
    },
  );

  it('takes the time between start and end without the interruptions if a Polar night has no stages', () => {
    const stages = {
      light_sleep: null,
      deep_sleep: -1,
      rem_sleep: undefined,
      unrecognized_sleep_stage: null,
    };
    expect(toNight({ ...NIGHT, ...stages })).toMatchObject({ durationMinutes: 460, state: 'scored' });
    expect(toNight({ ...NIGHT, ...stages, sleep_start_time: null })).toMatchObject({
      durationMinutes: 0,
      state: 'pending',
    });
  });

  it.each([
    ['date', undefined],
    ['date', 'yesterday'],
    ['sleep_end_time', '2026-11-18T06:49:07'],
    ['light_sleep', 'long'],
  ])('refuses a night of Polar whose %s is %j', (field, value) => {
    expect(() => toNight({ ...NIGHT, [field]: value })).toThrow(field);
  });
});

describe('nightsIn', () => {
  it('reads a list of Polar nights, and a 204 as an empty one', () => {
    expect(nightsIn({ nights: [NIGHT] })).toEqual([NIGHT]);
    expect(nightsIn(undefined)).toEqual([]);
    expect(() => nightsIn([])).toThrow();
  });
});
