import { describe, expect, it } from '@jest/globals';
import { commonLength } from './repetitions.js';
import { clock, distance, duration, speedWords, sportName } from './units.js';

describe('the common length of repetitions', () => {
  it('commonLength answers the distance if the times vary more, and the time if the distances vary more', () => {
    const byDistance = commonLength([799, 803, 797, 801], [178, 184, 175, 181], false);
    expect(byDistance).toEqual({ distance_m: 800, duration_s: null });
    const byTime = commonLength([712, 689, 701, 722], [180, 181, 179, 180], false);
    expect(byTime).toEqual({ distance_m: null, duration_s: 180 });
  });

  it('commonLength answers a distance that is not a round number', () => {
    expect(commonLength([733, 731, 734], [171, 163, 179], false)).toEqual({
      distance_m: 730,
      duration_s: null,
    });
  });

  it('commonLength answers neither distance nor time for a ladder', () => {
    expect(commonLength([400, 800, 1_200], [90, 185, 290], false)).toEqual({
      distance_m: null,
      duration_s: null,
    });
  });

  it('commonLength returns the duration for a ride, and for repetitions without a distance', () => {
    expect(commonLength([2_000, 2_001, 2_000], [299, 304, 298], true).duration_s).toBe(300);
    expect(commonLength([null, null, null], [60, 60, 61], false).duration_s).toBe(60);
  });
});

describe('units', () => {
  it.each([
    [59.6, '1:00'],
    [225, '3:45'],
    [3_730, '1:02:10'],
  ])('clock of %d seconds is %s', (seconds, words) => expect(clock(seconds)).toBe(words));

  it.each([
    [45, '45 s'],
    [60, '1 min'],
    [90, '90 s'],
    [150, '2:30 min'],
    [480, '8 min'],
    [3_690, '1:01:30 h'],
  ])('duration of %d seconds is %s', (seconds, words) => expect(duration(seconds)).toBe(words));

  it.each([
    [400, '400 m'],
    [1_000, '1 km'],
    [1_200, '1200 m'],
    [1_609, '1 mile'],
    [12_440, '12.4 km'],
  ])('distance of %d metres is %s', (metres, words) => expect(distance(metres)).toBe(words));

  it('speedWords writes speed in the unit of the sport', () => {
    expect(speedWords('run', 225, 300)).toBe('3:45/km');
    expect(speedWords('swim', 1_000, null)).toBe('1:40/100 m');
    expect(speedWords('ride', 120, null)).toBe('30.0 km/h');
    expect(speedWords('ride', 120, 210)).toBe('210 W');
    expect(speedWords('run', 1e-9, null)).toBe('');
    expect(sportName('NordicSki')).toBe('Nordic ski');
  });
});
