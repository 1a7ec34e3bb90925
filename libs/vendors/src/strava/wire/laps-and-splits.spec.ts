import { describe, expect, it } from '@jest/globals';
import { toLaps, toSplits } from './laps-and-splits.js';

const LAP = {
  id: 4_479_306_946,
  resource_state: 2,
  name: 'Lap 1',
  activity: { id: 1_410_355_832, resource_state: 1 },
  athlete: { id: 134_815, resource_state: 1 },
  elapsed_time: 1_573,
  moving_time: 1_569,
  start_date: '2018-02-16T14:52:54Z',
  start_date_local: '2018-02-16T06:52:54Z',
  distance: 8_046.72,
  start_index: 0,
  end_index: 1_570,
  total_elevation_gain: 276,
  average_speed: 5.12,
  max_speed: 9.5,
  average_cadence: 78.6,
  device_watts: true,
  average_watts: 233.1,
  lap_index: 1,
  split: 1,
};

describe('toLaps and toSplits', () => {
  it('maps a lap of Strava to fields that name their unit, with the id as text', () => {
    expect(toLaps([LAP])).toEqual([
      {
        id: '4479306946',
        name: 'Lap 1',
        number: 1,
        start_time: new Date('2018-02-16T14:52:54Z'),
        distance_m: 8_046.72,
        moving_time_s: 1_569,
        elapsed_time_s: 1_573,
        average_speed_m_s: 5.12,
        average_heartrate: null,
        elevation_gain_m: 276,
        max_speed_m_s: 9.5,
        max_heartrate: null,
        average_cadence: 78.6,
        average_watts: 233.1,
        start_index: 0,
        end_index: 1_570,
      },
    ]);
  });

  it('maps a split of Strava to fields that name their unit', () => {
    const split = {
      distance: 1_001.5,
      elapsed_time: 141,
      elevation_difference: -4.4,
      moving_time: 141,
      split: 1,
    };
    expect(toSplits([{ ...split, average_speed: 7.1, average_heartrate: 151.2, pace_zone: 0 }])).toEqual([
      {
        number: 1,
        distance_m: 1_001.5,
        moving_time_s: 141,
        elapsed_time_s: 141,
        average_speed_m_s: 7.1,
        average_heartrate: 151.2,
        elevation_difference_m: -4.4,
      },
    ]);
  });

  it('leaves out a lap that is no object, and returns null for a field of another type', () => {
    expect(toLaps([null, 'lap', 7, []])).toEqual([]);
    const [lap] = toLaps([{ id: {}, distance: '12', start_date: 'yesterday', lap_index: 1.5 }]);
    expect(new Set(Object.values(lap!))).toEqual(new Set([null]));
  });
});
