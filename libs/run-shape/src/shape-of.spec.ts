import { describe, expect, it } from '@jest/globals';
import { easy, factsFor, over, repeated, session, type Part } from './session.harness.js';
import { shapeOf } from './shape-of.js';

const usual = { speed: 2.8, trailSpeed: null, heartRate: 140, movingTimeS: 2_700 };
const eightHundreds = [
  easy(12),
  ...over(800, 6, 4.42, { seconds: 90, speed: 2.3 }),
  easy(10, { speed: 2.6 }),
];

function shape(parts: readonly Part[], facts = {}, options = {}) {
  return shapeOf(session(parts, options), factsFor(parts, { usual, ...facts }));
}

describe('the shape of a run', () => {
  it('the title of repetitions has their common distance, pace and recovery', () => {
    const { profile, title, repetitions, segments } = shape(eightHundreds);
    expect(profile).toBe('intervals');
    expect(title).toBe('6 × 800 m at 3:46/km with 90 s jog');
    expect(repetitions).toMatchObject({ count: 6, distance_m: 800, duration_s: null, recovery: 'active' });
    expect(segments.map(({ kind }) => kind)).toEqual([
      'warmup',
      ...['work', 'recovery', 'work', 'recovery', 'work', 'recovery'],
      ...['work', 'recovery', 'work', 'recovery', 'work'],
      'cooldown',
    ]);
  });

  it('shapeOf finds the start of each segment in a 6 × 800 m session to within three seconds', () => {
    const { segments } = shape(eightHundreds);
    let planned = 0;
    eightHundreds.forEach(({ seconds }, index) => {
      expect(Math.abs(segments[index]!.from_s - planned)).toBeLessThanOrEqual(3);
      planned += seconds;
    });
  });

  it.each([
    ['heart rate', ['heartrate']],
    ['velocity', ['velocity_smooth']],
    ['distance', ['distance']],
    ['height', ['altitude']],
    ['all but distance', ['heartrate', 'velocity_smooth', 'altitude']],
  ])('shapeOf finds the same repetitions without %s', (_, without) => {
    const found = shape(eightHundreds, {}, { without });
    expect(found.repetitions).toMatchObject({ count: 6, distance_m: 800 });
  });

  it('shapeOf reads a paused watch between repetitions as a rest', () => {
    const parts = [easy(10), ...over(400, 10, 4.6, { seconds: 60, speed: 0, isPause: true }), easy(8)];
    expect(shape(parts).title).toBe('10 × 400 m at 3:37/km with 1 min rest');
  });

  it('an easy run with red lights stays one easy segment', () => {
    const light: Part = { seconds: 25, speed: 0 };
    const { profile, segments } = shape([easy(14), light, easy(9), light, easy(20), light, easy(5)]);
    expect(profile).toBe('easy');
    expect(segments).toHaveLength(1);
  });

  it('a red light does not divide a tempo block', () => {
    const tempo: Part = { seconds: 750, speed: 3.6 };
    const { profile, segments, title } = shape([easy(12), tempo, { seconds: 20, speed: 0 }, tempo, easy(10)]);
    expect(profile).toBe('tempo');
    expect(title).toBe('25 min tempo at 4:38/km');
    expect(segments.map(({ kind }) => kind)).toEqual(['warmup', 'work', 'cooldown']);
  });

  it('a run that gets faster until its end is a progression with three segments', () => {
    const { profile, title, segments } = shape([
      easy(15),
      easy(15, { speed: 3.2 }),
      easy(15, { speed: 3.6 }),
    ]);
    expect(profile).toBe('progression');
    expect(title).toBe('Progression from 5:57 to 4:38/km');
    expect(segments.map(({ kind }) => kind)).toEqual(['steady', 'steady', 'steady']);
  });

  it('shapeOf counts eight hill repetitions', () => {
    const parts = [
      easy(12),
      ...repeated(8, { seconds: 60, speed: 3.1, slope: 0.07 }, { seconds: 75, speed: 2.5, slope: -0.0695 }),
      easy(10, { slope: -0.012 }),
    ];
    const { profile, title, segments } = shape(parts);
    expect(profile).toBe('hills');
    expect(title).toBe('8 × 1 min uphill, jogging down');
    expect(segments.filter(({ kind }) => kind === 'climb')).toHaveLength(8);
  });

  it('the profile of an even run depends on the athlete’s usual speed and duration', () => {
    const at = (speed: number, minutes: number, facts = {}) =>
      shape([easy(minutes, { speed })], facts).profile;
    expect(at(2.8, 45)).toBe('easy');
    expect(at(2.4, 30)).toBe('recovery');
    expect(at(3.1, 45)).toBe('steady');
    expect(at(2.8, 100)).toBe('long');
    expect(at(3.75, 40)).toBe('race-like');
  });

  it('an even run without usual values is easy, unless the heart rate is far from usual', () => {
    expect(shape([easy(45, { speed: 3.8 })], { usual: undefined }).profile).toBe('easy');
    const calm = [easy(45, { speed: 3.8, heartRate: 115 })];
    expect(shape(calm, { usual: undefined }).profile).toBe('recovery');
  });

  it('shapeOf finds the intervals of a ride by power', () => {
    const ride = (watts: number, minutes: number): Part => ({ seconds: minutes * 60, speed: 8, watts });
    const parts = [ride(140, 12), ...repeated(5, ride(280, 5), ride(110, 3)), ride(110, 8)];
    const { profile, title } = shape(parts, { sport_type: 'VirtualRide' });
    expect(profile).toBe('intervals');
    expect(title).toBe('5 × 5 min at 280 W with 3 min easy');
    expect(shape([ride(150, 90)], { sport_type: 'Ride' }).profile).toBe('ride');
  });

  it('shapeOf counts repetitions in a pool by the rests', () => {
    const hundred: Part = { seconds: 100, speed: 1 };
    const parts = repeated(10, hundred, { seconds: 20, speed: 0 });
    const { profile, title } = shape(parts, { sport_type: 'Swim' });
    expect(profile).toBe('swim');
    expect(title).toBe('10 × 100 m at 1:40/100 m with 20 s rest');
  });

  it.each([
    ['Walk', 'walk'],
    ['Hike', 'hike'],
    ['WeightTraining', 'strength'],
    ['NordicSki', 'other'],
  ])('a %s has the profile %s and no repetitions', (sport_type, profile) => {
    expect(shape(eightHundreds, { sport_type })).toMatchObject({ profile, repetitions: null });
  });

  it('an activity without a recording is unrecorded, with a title from its row', () => {
    const found = shapeOf(null, factsFor([easy(50)]));
    expect(found).toMatchObject({
      profile: 'unrecorded',
      title: 'Run without a recording, 8.4 km',
      segments: [],
    });
  });

  it('the description has a climb and the drift of the heart rate', () => {
    const heartAt = (heartRate: number): Part => easy(25, { heartRate });
    const climb: Part = easy(10, { slope: 0.05, heartRate: 147 });
    const found = shape([heartAt(140), climb, easy(10, { slope: -0.05, heartRate: 147 }), heartAt(154)]);
    expect(found.climbs).toHaveLength(1);
    expect(found.climbs[0]!.gain_m).toBeGreaterThan(70);
    expect(found.heart_rate_drift_percent).toBeGreaterThan(5);
    expect(found.description).toMatch(/One climb of \d+ m over 1.7 km at 4.9 %\. Heart rate rose by/);
  });
});
