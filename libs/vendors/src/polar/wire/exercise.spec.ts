import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { register } from 'prom-client';
import { toExercise, toExercises } from './exercise.js';
import { Duration } from './values.js';

// Polar's documented example, with its odd host and names.
const WIRE = {
  id: '2AC312F',
  upload_time: '2026-11-17T18:40:02.000Z',
  polar_user: 'https://www.polaraccesslink/v3/users/1',
  device: 'Polar Vantage V3',
  device_id: '1111AAAA',
  start_time: '2026-11-17T19:05:02',
  start_time_utc_offset: 120,
  duration: 'PT44M45.5S',
  calories: 530,
  distance: 8_600.4,
  heart_rate: { average: 149, maximum: 171 },
  training_load: 143.22,
  sport: 'RUNNING',
  detailed_sport_info: 'ROAD_RUNNING',
  has_route: true,
  'running-index': 51,
};
const SPARSE = { id: 'a', start_time: '2026-11-17T19:05:02', start_time_utc_offset: 0 };

describe('toExercise', () => {
  it('maps every field of an exercise of Polar', () => {
    expect(toExercise(WIRE)).toEqual({
      id: '2AC312F',
      name: 'Road running',
      sportType: 'Run',
      startTime: new Date('2026-11-17T17:05:02Z'),
      utcOffsetS: 7_200,
      timezone: null,
      distanceM: 8_600.4,
      movingTimeS: 2_686,
      elapsedTimeS: 2_686,
      elevationGainM: 0,
      averageHeartrate: 149,
      maxHeartrate: 171,
      manual: false,
      private: false,
      totalPhotoCount: 0,
      map: null,
      description: null,
      calories: 530,
      laps: [],
      splits: [],
    });
  });

  it.each([
    ['2026-11-17T19:05:02', 120, '2026-11-17T17:05:02.000Z'],
    ['2026-11-17T19:05:02', -300, '2026-11-18T00:05:02.000Z'],
    ['2026-11-17T01:05:02.500', 330, '2026-11-16T19:35:02.500Z'],
    // The two hours of a night in which the clocks go back.
    ['2026-10-25T02:30:00', 120, '2026-10-25T00:30:00.000Z'],
    ['2026-10-25T02:30:00', 60, '2026-10-25T01:30:00.000Z'],
  ])('reads a Polar start at %s with an offset of %i min as %s', (start_time, start_time_utc_offset, utc) => {
    expect(toExercise({ ...WIRE, start_time, start_time_utc_offset }).startTime.toISOString()).toBe(utc);
  });

  it('accepts an exercise of Polar that has only an id, a start and its offset', () => {
    expect(toExercise(SPARSE)).toMatchObject({
      name: 'Workout',
      sportType: 'Workout',
      distanceM: 0,
      elapsedTimeS: 0,
      averageHeartrate: null,
      calories: null,
    });
  });

  it('reads 0 bpm of a Polar exercise as no heart rate', () => {
    expect(toExercise({ ...WIRE, heart_rate: { average: 0 } })).toMatchObject({
      averageHeartrate: null,
      maxHeartrate: null,
    });
  });

  it.each([
    ['TRAIL_RUNNING', 'RUNNING', 'TrailRun', 'Trail running'],
    ['CROSS-COUNTRY_SKIING', null, 'NordicSki', 'Cross-country skiing'],
    [null, 'CYCLING', 'Ride', 'Cycling'],
    ['A_SPORT_OF_2027', 'CYCLING', 'Ride', 'A sport of 2027'],
    ['OTHER_INDOOR', 'OTHER', 'Workout', 'Other indoor'],
    ['__proto__', 'constructor', 'Workout', '  proto  '],
    [null, null, 'Workout', 'Workout'],
  ])('names the Polar sport %s (%s) %s', (detailed_sport_info, sport, sportType, name) => {
    expect(toExercise({ ...WIRE, detailed_sport_info, sport })).toMatchObject({ sportType, name });
  });

  it.each([
    ['id', undefined],
    ['id', '../users'],
    ['id', ''],
    ['start_time', undefined],
    ['start_time', '2026-11-17T17:05:02Z'],
    ['start_time', '2026-13-40T17:05:02'],
    ['start_time_utc_offset', undefined],
    ['start_time_utc_offset', 5_000],
    ['duration', '44 min'],
    ['duration', 'PT'],
    ['distance', 'far'],
  ])('refuses an exercise of Polar whose %s is %j', (field, value) => {
    expect(() => toExercise({ ...WIRE, [field]: value })).toThrow(field);
  });
});

describe('toExercises', () => {
  it('lists the readable exercises of Polar, and the id and start of each unreadable one', () => {
    const odd = { ...WIRE, id: 'odd', distance: 'far', start_time: '2026-11-01T08:00:00' };
    const undated = { ...WIRE, id: 'undated', start_time_utc_offset: undefined };
    expect(toExercises([WIRE, odd, undated, null])).toMatchObject({
      activities: [{ id: '2AC312F' }],
      details: [{ id: '2AC312F', calories: 530 }],
      unreadable: [
        { id: 'odd', startTime: new Date('2026-11-01T06:00:00Z') },
        { id: 'undated', startTime: undefined },
        { id: undefined, startTime: undefined },
      ],
      length: 4,
      oldestStart: new Date('2026-11-01T06:00:00Z'),
    });
  });

  it('the unreadable exercises of a list of Polar are counted', async () => {
    register.resetMetrics();
    toExercises([WIRE, {}, null]);
    const { values } = (await register.getSingleMetric('unreadable_items_total')?.get()) ?? {};
    expect(values).toMatchObject([{ labels: { vendor: 'polar', endpoint: 'exercises' }, value: 2 }]);
  });

  it.each([[[]], [undefined]])('reads %j as an empty list of Polar', (json) => {
    expect(toExercises(json)).toMatchObject({ activities: [], details: [], unreadable: [], length: 0 });
  });

  it('refuses a list of Polar of 20 unreadable items, and accepts one of 19', () => {
    expect(toExercises(Array(19).fill({})).length).toBe(19);
    expect(() => toExercises(Array(20).fill({}))).toThrow('start_time');
    expect(() => toExercises({ exercises: [] })).toThrow('expected array');
  });
});

describe('Duration', () => {
  it('adds up the parts of an ISO 8601 duration, whichever are present', () => {
    const part = (most: number) => fc.option(fc.nat(most), { nil: undefined });
    const parts = fc.tuple(part(29), part(99), part(9_999), part(99_999), fc.constantFrom('', '.5', '.026'));
    fc.assert(
      fc.property(parts, ([days, hours, minutes, seconds, fraction]) => {
        const of = (value: number | undefined, unit: string) =>
          value === undefined ? '' : `${value}${unit}`;
        const time =
          of(hours, 'H') + of(minutes, 'M') + (seconds === undefined ? '' : `${seconds}${fraction}S`);
        fc.pre(days !== undefined || time !== '');
        const expected =
          (days ?? 0) * 86_400 +
          (hours ?? 0) * 3_600 +
          (minutes ?? 0) * 60 +
          (seconds === undefined ? 0 : Number(`${seconds}${fraction}`));
        fc.pre(expected <= 30 * 86_400);
        expect(Duration.parse(`P${of(days, 'D')}${time && `T${time}`}`)).toBeCloseTo(expected, 6);
      }),
    );
  });

  it.each(['', 'P', 'PT', 'PT1.2.3S', '-PT1S', 'PT1S ', 'P9999D'])('refuses %j', (text) => {
    expect(Duration.safeParse(text).success).toBe(false);
  });
});
