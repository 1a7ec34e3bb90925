import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import {
  type ActivityOptions,
  createActivity,
  createAthleteProfile,
  detailJson,
  streamsOf,
  summaryOf,
  truthOf,
} from './index.js';

const startMs = Date.UTC(2026, 10, 18, 6);
const athlete = createAthleteProfile(7);

function made(options: Partial<ActivityOptions>) {
  return createActivity({ id: '77', athlete, startMs, ...options });
}

describe('createActivity', () => {
  it('createActivity gives exactly the requested distance and time', () => {
    const run = made({ distanceM: 10_000, durationS: 3000, stops: [] });
    expect(summaryOf(run)).toMatchObject({ distance: 10_000, moving_time: 3000, elapsed_time: 3000 });
    const ride = made({ sport: 'Ride', distanceM: 40_000, durationS: 4800, stops: [] });
    expect(summaryOf(ride)).toMatchObject({ distance: 40_000, moving_time: 4800 });
  });

  it('createActivity gives the requested repetitions, recoveries, warm-up and cool-down', () => {
    const { segments } = truthOf(
      made({
        repetitions: 3,
        repetitionDistanceM: 1000,
        paceSPerKm: 240,
        recoveryDurationS: 90,
        recovery: 'stand',
        warmupS: 600,
        cooldownS: 0,
      }),
    );
    expect(segments.map(({ kind }) => kind)).toEqual([
      'warmup',
      'work',
      'recovery',
      'work',
      'recovery',
      'work',
    ]);
    expect(segments[0]!.duration_s).toBe(600);
    for (const { kind, ...segment } of segments) {
      if (kind === 'recovery') expect(segment).toMatchObject({ duration_s: 90, target_pace_s_per_km: null });
      if (kind === 'work') expect(Math.abs(segment.target_pace_s_per_km! - 240)).toBeLessThan(5);
    }
  });

  it('createActivity ends a progression at the requested pace', () => {
    const paces = truthOf(made({ profile: 'progression', paceSPerKm: 230 })).segments.map(
      (segment) => segment.target_pace_s_per_km!,
    );
    expect(paces).toEqual([...paces].sort((a, b) => b - a));
    expect(paces.at(-1)).toBeCloseTo(230, 0);
  });

  it('createActivity rides at the requested power', () => {
    const ride = made({
      sport: 'VirtualRide',
      profile: 'intervals',
      repetitions: 4,
      repetitionDurationS: 480,
      powerW: 280,
    });
    for (const { kind, target_power_w } of truthOf(ride).segments) {
      if (kind === 'work') expect(Math.abs(target_power_w! - 280)).toBeLessThan(6);
    }
  });

  it('createActivity records every channel of the sport except the given missing channels', () => {
    expect(truthOf(made({})).missing_channels.filter((key) => key !== 'watts')).toEqual([]);
    expect(truthOf(made({ missingChannels: ['temp'] })).missing_channels).toContain('temp');
  });

  it('createActivity stays consistent for any combination of options', () => {
    const positive = (max: number) =>
      fc.option(fc.double({ min: 0.1, max, noNaN: true }), { nil: undefined });
    const wishes = fc.record({
      seed: fc.integer(),
      sport: fc.constantFrom(
        ...(['Run', 'TrailRun', 'Ride', 'VirtualRide', 'Walk', 'Hike', 'Swim', 'WeightTraining'] as const),
      ),
      profile: fc.constantFrom(
        ...([
          undefined,
          'easy',
          'tempo',
          'progression',
          'intervals',
          'hills',
          'race',
          'swim',
          'strength',
        ] as const),
      ),
      repetitions: fc.option(fc.integer({ min: 1, max: 30 }), { nil: undefined }),
      repetitionDistanceM: positive(2000),
      repetitionDurationS: positive(600),
      recoveryDurationS: positive(300),
      recovery: fc.constantFrom('jog' as const, 'stand' as const, undefined),
      warmupS: fc.constantFrom(0, 1, 300, undefined),
      paceSPerKm: fc.option(fc.double({ min: 120, max: 2000, noNaN: true }), { nil: undefined }),
      powerW: positive(800),
      durationS: positive(7200),
      distanceM: positive(20_000),
      heartRateDriftPercent: fc.option(fc.double({ min: -100, max: 100, noNaN: true }), { nil: undefined }),
      stops: fc.option(
        fc.array(
          fc.record({
            afterMovingS: fc.double({ min: 0, max: 9000, noNaN: true }),
            seconds: fc.double({ min: 0, max: 900, noNaN: true }),
            paused: fc.boolean(),
          }),
          { maxLength: 5 },
        ),
        { nil: undefined },
      ),
      indoor: fc.constantFrom(true, false, undefined),
    });
    fc.assert(
      fc.property(wishes, (wish) => {
        const activity = made(wish);
        const summary = summaryOf(activity);
        const { time, moving, distance } = streamsOf(activity, ['time', 'moving', 'distance', 'heartrate'])!;
        expect(time!.at(-1)).toBe(summary.elapsed_time);
        if (moving) expect(moving.filter(Boolean)).toHaveLength(summary.moving_time);
        if (distance) expect(Math.abs(distance.at(-1)! - summary.distance)).toBeLessThan(0.2);
        JSON.parse(detailJson(activity), (key, value: unknown) => {
          const isOddNull = value === null && /speed|time|distance|heartrate|watts|elev|latlng/.test(key);
          if (isOddNull && key !== 'average_grade_adjusted_speed') throw new Error(`${key} is not a number`);
          return value;
        });
      }),
      { numRuns: 100 },
    );
  });
});
