import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { asin, cos, sin, sqrt } from '../maths.js';
import {
  type Activity,
  createActivity,
  createAthleteProfile,
  createHistory,
  type LatLng,
  streamsJson,
  streamsOf,
  STREAM_KEYS,
  summaryOf,
  truthOf,
} from '../index.js';

// A recording takes 10 ms. 30 recordings include every sport, indoor sessions, pauses, tracks and hills.
const RUNS = 30;
const endsAtMs = Date.UTC(2026, 10, 18, 9);
const athlete = createAthleteProfile(7);
const startMs = Date.UTC(2026, 10, 18, 6);
const lives = fc
  .record({ seed: fc.integer({ min: 0, max: 2 ** 31 }), index: fc.integer({ min: 0, max: 59 }) })
  .map(({ seed, index }) => createHistory({ seed, count: 60, endsAtMs, manualShare: 0 })[index]!);

describe('streams', () => {
  it('streams are index-aligned, finite and in order', () => {
    fc.assert(
      fc.property(lives, (activity) => {
        const streams = streamsOf(activity)!;
        const samples = streams.time!.length;
        for (const channel of Object.values(streams)) expect(channel).toHaveLength(samples);
        expect(JSON.stringify(streams)).not.toContain('null');
        expect(isAscending(streams.time!, 1)).toBe(true);
        expect(isAscending(streams.distance ?? [], 0)).toBe(true);
      }),
      { numRuns: RUNS },
    );
  });

  it('streams agree with the summary, although the summary is computed without streams', () => {
    fc.assert(
      fc.property(lives, (activity) => {
        const streams = streamsOf(activity)!;
        const summary = summaryOf(activity);
        expect(streams.time!.at(-1)).toBe(summary.elapsed_time);
        if (streams.moving) expect(streams.moving.filter(Boolean)).toHaveLength(summary.moving_time);
        if (streams.distance) expect(streams.distance.at(-1)).toBe(summary.distance);
        if (streams.velocity_smooth) expect(Math.max(...streams.velocity_smooth)).toBe(summary.max_speed);
        if (streams.heartrate) {
          expect(Math.abs(mean(streams.heartrate) - summary.average_heartrate!)).toBeLessThan(0.4);
          expect(Math.max(...streams.heartrate)).toBe(summary.max_heartrate);
          expect(summary.max_heartrate).toBeLessThanOrEqual(activity.athlete.maxHeartRate);
        }
        if (streams.cadence) {
          const turning = streams.cadence.filter((value) => value > 0);
          expect(Math.abs(mean(turning) - summary.average_cadence!)).toBeLessThan(2);
        }
        if (streams.watts) {
          const moving = streams.watts.filter((_, index) => streams.moving![index]);
          expect(Math.abs(mean(moving) / summary.average_watts! - 1)).toBeLessThan(0.01);
          expect(Math.max(...streams.watts)).toBe(summary.max_watts);
        }
        if (streams.altitude) {
          expect(Math.abs(Math.max(...streams.altitude) - summary.elev_high!)).toBeLessThan(15);
        }
        expect(summary.has_heartrate).toBe(streams.heartrate !== undefined);
        expect(summary.start_latlng.length).toBe(streams.latlng ? 2 : 0);
      }),
      { numRuns: RUNS },
    );
  });

  it('the line through the positions is as long as the distance channel says', () => {
    fc.assert(
      fc.property(lives, (activity) => {
        const { latlng, distance } = streamsOf(activity)!;
        if (!latlng || distance!.at(-1)! < 1000) return;
        expect(Math.abs(lengthOf(latlng) / distance!.at(-1)! - 1)).toBeLessThan(0.02);
        const { start_latlng, end_latlng } = summaryOf(activity);
        expect(lengthOf([latlng[0]!, start_latlng as LatLng])).toBeLessThan(2);
        expect(lengthOf([latlng.at(-1)!, end_latlng as LatLng])).toBeLessThan(2);
      }),
      { numRuns: RUNS },
    );
  });

  it('speed and distance channels agree', () => {
    fc.assert(
      fc.property(lives, (activity) => {
        const { velocity_smooth, distance } = streamsOf(activity)!;
        if (!velocity_smooth) return;
        const travelled = velocity_smooth.reduce((sum, speed) => sum + speed, 0);
        expect(Math.abs(travelled / distance!.at(-1)! - 1)).toBeLessThan(0.02);
      }),
      { numRuns: RUNS },
    );
  });

  it('the altitude stream has equal heights at equal positions', () => {
    const there = createHistory({ seed: 2, count: 400, endsAtMs }).filter(
      ({ session, indoor, manual, place }) =>
        !indoor && !manual && !session.venue && place.city === createAthleteProfile(2).place.city,
    );
    const heights = new Map<string, number>();
    let compared = 0;
    for (const activity of there.slice(0, 40)) {
      const { latlng, altitude } = streamsOf(activity)!;
      latlng?.forEach(([lat, lng], index) => {
        // A cell is about a metre wide. Heights within a cell differ only by centimetres.
        const cell = `${lat.toFixed(5)},${lng.toFixed(5)}`;
        const known = heights.get(cell);
        if (known !== undefined && Math.abs(known - altitude![index]!) > 3) throw new Error(cell);
        if (known !== undefined) compared++;
        heights.set(cell, altitude![index]!);
      });
    }
    expect(compared).toBeGreaterThan(100);
  });

  it('streams have a gap in time at a stop with paused watch, and speed 0 at a stop with running watch', () => {
    const activity = made({
      stops: [
        { afterMovingS: 300, seconds: 60, paused: true },
        { afterMovingS: 600, seconds: 30, paused: false },
      ],
    });
    const { time, moving, velocity_smooth, cadence, latlng } = streamsOf(activity)!;
    const gaps = time!.flatMap((second, index) =>
      index > 0 && second - time![index - 1]! > 1 ? [index] : [],
    );
    expect(gaps).toHaveLength(1);
    expect(time!.slice(gaps[0]! - 1, gaps[0]! + 1)).toEqual([300, 361]);
    const still = moving!.flatMap((isMoving, index) => (!isMoving && index > 0 ? [index] : []));
    expect(still).toHaveLength(30);
    expect(time![still[0]!]).toBe(661);
    for (const index of still) {
      expect([velocity_smooth![index], cadence![index]]).toEqual([0, 0]);
      expect(latlng![index]).toEqual(latlng![still[0]!]);
    }
    expect(truthOf(activity).stops).toEqual([
      { at_s: 300, seconds: 60, paused: true },
      { at_s: 660, seconds: 30, paused: false },
    ]);
  });

  it('streams leave out channels that were not recorded', () => {
    expect(Object.keys(streamsOf(made({ missingChannels: ['heartrate', 'temp'] }))!)).not.toContain(
      'heartrate',
    );
    const indoor = streamsOf(made({ indoor: true }))!;
    expect(indoor.latlng ?? indoor.altitude ?? indoor.grade_smooth).toBeUndefined();
    expect(Object.keys(streamsOf(made({ sport: 'WeightTraining' }))!)).toEqual(['time', 'heartrate']);
    expect(truthOf(made({ missingChannels: ['heartrate'] })).missing_channels).toContain('heartrate');
  });

  it('manual entries have no streams', () => {
    const manual = made({ profile: 'manual' });
    expect(streamsOf(manual)).toBeNull();
    expect(streamsJson(manual, STREAM_KEYS, true)).toBeNull();
    expect(truthOf(manual)).toMatchObject({ profile: 'manual', segments: [], repetitions: 0, manual: true });
    expect(summaryOf(manual)).toMatchObject({
      manual: true,
      external_id: null,
      upload_id: null,
      max_speed: 0,
    });
  });

  it('streams show each repetition at the planned time and pace', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 15 }),
        fc.constantFrom<{ repetitionDistanceM?: number; repetitionDurationS?: number }>(
          { repetitionDistanceM: 400 },
          { repetitionDistanceM: 1000 },
          { repetitionDurationS: 60 },
          { repetitionDurationS: 480 },
        ),
        fc.constantFrom('jog' as const, 'stand' as const),
        fc.integer({ min: 1, max: 1_000_000 }),
        (repetitions, length, recovery, seed) => {
          const activity = made({ repetitions, recovery, seed, ...length });
          const truth = truthOf(activity);
          expect(truth.repetitions).toBe(repetitions);
          expect(truth.repetition_distance_m).toBe(length.repetitionDistanceM ?? null);
          expect(truth.repetition_duration_s).toBe(length.repetitionDurationS ?? null);
          const streams = streamsOf(activity)!;
          const works = truth.segments.filter(({ kind }) => kind === 'work');
          const others = truth.segments.filter(({ kind }) => kind !== 'work');
          const slowest = Math.min(...works.map((work) => speedWithin(streams, work)));
          const fastest = Math.max(...others.map((other) => speedWithin(streams, other)));
          expect(slowest).toBeGreaterThan(fastest * 1.2);
          for (const work of works) {
            expect(1000 / speedWithin(streams, work) / work.target_pace_s_per_km!).toBeCloseTo(1, 1);
          }
        },
      ),
      { numRuns: RUNS },
    );
  });

  it('heart rate lags behind effort and drifts on a long steady run', () => {
    const { heartrate } = streamsOf(
      made({ profile: 'long', durationS: 7200, stops: [], heartRateDriftPercent: 6 }),
    )!;
    const early = mean(heartrate!.slice(0, 30));
    const first = mean(heartrate!.slice(600, 3600));
    const second = mean(heartrate!.slice(3600));
    expect(early).toBeLessThan(first - 15);
    expect(100 * (second / first - 1)).toBeGreaterThan(4);
    expect(100 * (second / first - 1)).toBeLessThan(8);
  });

  it('heights rise on hill repetitions and fall between the repetitions', () => {
    const activity = made({ profile: 'hills', repetitions: 5 });
    const { altitude } = streamsOf(activity)!;
    const { segments } = truthOf(activity);
    for (const { kind, start_s, duration_s, distance_m } of segments) {
      const rise = altitude![start_s + duration_s]! - altitude![start_s]!;
      if (kind === 'climb') expect(rise / distance_m).toBeGreaterThan(0.04);
      if (kind === 'recovery') expect(rise / distance_m).toBeLessThan(-0.04);
    }
  });

  it('streamsJson has the values of streamsOf, as object or array and for any choice of keys', () => {
    fc.assert(
      fc.property(lives, fc.subarray([...STREAM_KEYS]), (activity, keys) => {
        const byType = JSON.parse(streamsJson(activity, keys, true)!.toString());
        const asList = JSON.parse(streamsJson(activity, keys, false)!.toString());
        const streams = streamsOf(activity, keys)!;
        expect(Object.keys(byType)).toEqual(
          STREAM_KEYS.filter((key) => keys.includes(key) && key in streams),
        );
        expect(sameJson(asList, Object.entries(byType).map(withType))).toBe(true);
        for (const [key, values] of Object.entries(streams))
          expect(sameJson(byType[key].data, values)).toBe(true);
        for (const item of asList)
          expect(item).toMatchObject({ original_size: item.data.length, resolution: 'high' });
      }),
      { numRuns: 12 },
    );
  });

  it('a stream is the same when fewer streams are requested', () => {
    const activity = made({ repetitions: 4 });
    const all = streamsOf(activity)!;
    for (const key of STREAM_KEYS)
      expect(sameJson(streamsOf(activity, [key])![key] ?? null, all[key] ?? null)).toBe(true);
  });
});

let nextId = 1;

function made(options: Partial<Parameters<typeof createActivity>[0]>): Activity {
  return createActivity({ id: String(nextId++), athlete, startMs, seed: 4, ...options });
}

function speedWithin(
  { time, distance }: { time?: number[]; distance?: number[] },
  { start_s, duration_s }: { start_s: number; duration_s: number },
): number {
  const from = lastIndexUpTo(time!, start_s);
  const to = lastIndexUpTo(time!, start_s + duration_s);
  return (distance![to]! - distance![from]!) / duration_s;
}

function lastIndexUpTo(time: number[], second: number): number {
  return time.findLastIndex((value) => value <= second);
}

/** Compares JSON texts: 1 ms for a recording, where `toEqual` takes 100 ms. */
function sameJson(one: unknown, two: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(two);
}

function withType([type, rest]: [string, unknown]): object {
  return { type, ...(rest as object) };
}

function isAscending(values: number[], least: number): boolean {
  return values.every((value, index) => index === 0 || value - values[index - 1]! >= least);
}

function mean(values: number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

const EARTH_M = 6_371_008.8;
const RADIAN = Math.PI / 180;

function lengthOf(points: readonly LatLng[]): number {
  let sum = 0;
  for (let i = 1; i < points.length; i++) {
    const [lat1, lng1] = points[i - 1]!.map((degrees) => degrees * RADIAN) as [number, number];
    const [lat2, lng2] = points[i]!.map((degrees) => degrees * RADIAN) as [number, number];
    const half = sin((lat2 - lat1) / 2) ** 2 + cos(lat1) * cos(lat2) * sin((lng2 - lng1) / 2) ** 2;
    sum += 2 * EARTH_M * asin(sqrt(half));
  }
  return sum;
}
