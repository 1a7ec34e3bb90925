import { describe, expect, it } from '@jest/globals';
import { type EarlierActivity, usualOf } from './facts.js';

function run(speed: number, minutes: number, more: Partial<EarlierActivity> = {}): EarlierActivity {
  const moving_time_s = minutes * 60;
  return {
    sport_type: 'Run',
    distance_m: speed * moving_time_s,
    moving_time_s,
    average_heartrate: null,
    ...more,
  };
}

const easyWeeks = Array.from({ length: 8 }, () => run(2.8, 45, { average_heartrate: 140 }));

describe('usual values', () => {
  it('usual values are weighted medians, so races do not move them', () => {
    const usual = usualOf([...easyWeeks, run(4.2, 40, { average_heartrate: 178 }), run(4, 90)]);
    expect(usual).toEqual({ speed: 2.8, trailSpeed: null, heartRate: 140, movingTimeS: 2_700 });
  });

  it('usual values are null for fewer than six runs', () => {
    expect(usualOf(easyWeeks.slice(0, 5)).speed).toBeNull();
    expect(usualOf([])).toEqual({ speed: null, trailSpeed: null, heartRate: null, movingTimeS: null });
  });

  it('usual values leave out other sports, runs under ten minutes and rows without a distance', () => {
    const others = [run(8, 90, { sport_type: 'Ride' }), run(5, 4), { ...run(1, 60), distance_m: 0 }];
    expect(usualOf([...easyWeeks, ...others, ...others, ...others])).toEqual(usualOf(easyWeeks));
  });

  it('the usual trail speed comes from trail runs only', () => {
    const trails = Array.from({ length: 6 }, () => run(2.2, 80, { sport_type: 'TrailRun' }));
    expect(usualOf([...easyWeeks, ...trails])).toMatchObject({ speed: 2.8, trailSpeed: 2.2 });
  });
});
