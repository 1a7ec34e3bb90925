import { describe, expect, it } from '@jest/globals';
import { type ShapeFacts } from '../facts.js';
import { evenRunProfile, raceDistance } from './even-run.js';

function row(minutes: number, more: Partial<ShapeFacts> = {}): ShapeFacts {
  return {
    sport_type: 'Run',
    distance_m: 8_000,
    moving_time_s: minutes * 60,
    elapsed_time_s: minutes * 60,
    elevation_gain_m: 0,
    ...more,
  };
}

const own = (value: number) => ({ value, measuredBy: 'own' }) as const;
const general = (value: number) => ({ value, measuredBy: 'general' }) as const;

describe('an even run', () => {
  it.each([
    [0.86, 'recovery'],
    [0.97, 'easy'],
    [1.12, 'steady'],
    [1.35, 'race-like'],
  ])('an even run of 40 minutes at %d times easy running is %s', (intensity, profile) => {
    expect(evenRunProfile(row(40), own(intensity))).toBe(profile);
  });

  it('an even run is long from 75 minutes, and from 60 minutes if the athlete usually runs 40', () => {
    const usual = { speed: 3, trailSpeed: null, heartRate: null, movingTimeS: 2_400 };
    expect(evenRunProfile(row(80), own(1))).toBe('long');
    expect(evenRunProfile(row(65), own(1))).toBe('easy');
    expect(evenRunProfile(row(65, { usual }), own(1))).toBe('long');
    expect(evenRunProfile(row(80), undefined)).toBe('long');
  });

  it('a longer even run is race-like at a lower intensity, and a run with stops is never race-like', () => {
    expect(evenRunProfile(row(20), own(1.2))).toBe('steady');
    expect(evenRunProfile(row(200), own(1.2))).toBe('race-like');
    expect(evenRunProfile(row(200, { elapsed_time_s: 13_000 }), own(1.2))).toBe('long');
  });

  it('an even run of an unknown athlete is easy unless the heart rate is far from usual', () => {
    expect(evenRunProfile(row(40), general(0.88))).toBe('easy');
    expect(evenRunProfile(row(40), general(1.12))).toBe('easy');
    expect(evenRunProfile(row(40), general(0.75))).toBe('recovery');
    expect(evenRunProfile(row(40), general(1.4))).toBe('steady');
    expect(evenRunProfile(row(40, { distance_m: 10_050 }), general(1.4))).toBe('race-like');
    expect(evenRunProfile(row(40), undefined)).toBe('easy');
  });

  it('raceDistance finds the race distance of a run that a watch measured up to 2 % too long', () => {
    expect(raceDistance(row(40, { distance_m: 10_120 }))).toBe(10_000);
    expect(raceDistance(row(40, { distance_m: 9_900 }))).toBeUndefined();
    expect(raceDistance(row(40, { distance_m: 21_300 }))).toBe(21_098);
  });
});
