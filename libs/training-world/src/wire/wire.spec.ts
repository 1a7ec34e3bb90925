import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import {
  createActivity,
  createAthleteProfile,
  createHistory,
  detailJson,
  detailOf,
  lapsOf,
  photosOf,
  streamsOf,
  summaryJson,
  summaryOf,
  truthOf,
  wireJson,
  withOverrides,
  zonesOf,
} from '../index.js';

const endsAtMs = Date.UTC(2026, 10, 18, 9);
// These four months have every sport, manual entries and photos.
const life = createHistory({ seed: 12, count: 150, endsAtMs });
const one = createActivity({
  id: '18446744073709551617',
  athlete: createAthleteProfile(1),
  startMs: endsAtMs,
});

describe('Strava documents', () => {
  it('wireJson writes ids of any size as bare numbers and does not change texts', () => {
    const text = 'say "id":"5", or \\"id\\":\\"6\\"';
    const json = detailJson(withOverrides(one, { name: text, description: text }));
    expect(json).toContain('"id":18446744073709551617');
    expect(JSON.parse(json)).toMatchObject({ name: text, description: text });
    expect(wireJson({ id: 'g12', athlete_id: '7' })).toBe('{"id":"g12","athlete_id":7}');
  });

  it('summaryJson equals wireJson of summaryOf', () => {
    for (const activity of life) {
      expect(JSON.parse(summaryJson(activity))).toEqual(JSON.parse(wireJson(summaryOf(activity))));
    }
  });

  it('detailJson equals wireJson of detailOf', () => {
    for (const activity of life.slice(0, 60)) {
      expect(JSON.parse(detailJson(activity))).toEqual(JSON.parse(wireJson(detailOf(activity))));
    }
  });

  it('documents contain only values that JSON can hold', () => {
    for (const activity of life.slice(0, 60)) {
      const values = JSON.stringify(
        [detailOf(activity), zonesOf(activity), photosOf(activity)],
        (_, value: unknown) => {
          if (typeof value === 'number' && !Number.isFinite(value))
            throw new Error(`${activity.id}: ${value}`);
          return value;
        },
      );
      expect(values).not.toContain('undefined');
    }
  });

  it('documents follow the edits of the athlete and keep all other fields', () => {
    const edited = withOverrides(withOverrides(one, { name: 'Mine' }), {
      private: true,
      sport_type: 'GravelRide',
    });
    expect(summaryOf(edited)).toMatchObject({
      name: 'Mine',
      private: true,
      visibility: 'only_me',
      sport_type: 'GravelRide',
      type: 'Ride',
      distance: summaryOf(one).distance,
    });
    expect(detailOf(withOverrides(one, { description: 'x' })).description).toBe('x');
  });

  it('laps cover the activity and point into the streams', () => {
    for (const activity of life.filter(({ manual }) => !manual).slice(0, 80)) {
      const laps = lapsOf(activity);
      const summary = summaryOf(activity);
      expect(sum(laps.map((lap) => lap.elapsed_time))).toBe(summary.elapsed_time);
      expect(sum(laps.map((lap) => lap.moving_time))).toBe(summary.moving_time);
      expect(Math.abs(sum(laps.map((lap) => lap.distance)) - summary.distance)).toBeLessThan(1);
      const { time } = streamsOf(activity, ['time'])!;
      for (const lap of laps) {
        const elapsed = (Date.parse(lap.start_date) - activity.startMs) / 1000;
        expect(time!.at(lap.start_index)).toBeLessThanOrEqual(elapsed + lap.elapsed_time);
        expect(lap.end_index).toBeLessThan(time!.length);
      }
      expect(time![laps.at(-1)!.end_index]).toBe(summary.elapsed_time);
    }
  });

  it('lapsOf cuts a workout by its segments', () => {
    const workout = createActivity({ id: '5', athlete: one.athlete, startMs: endsAtMs, repetitions: 6 });
    expect(lapsOf(workout).map((lap) => lap.elapsed_time)).toEqual(
      truthOf(workout).segments.map((segment) => segment.duration_s),
    );
  });

  it('detailOf has splits of a kilometre for a run', () => {
    for (const activity of life.filter(({ sport, manual }) => sport === 'Run' && !manual).slice(0, 40)) {
      const { splits_metric, distance, moving_time } = detailOf(activity);
      expect(splits_metric!.slice(0, -1).every((split) => split.distance === 1000)).toBe(true);
      expect(Math.abs(sum(splits_metric!.map((split) => split.distance)) - distance)).toBeLessThan(1);
      expect(sum(splits_metric!.map((split) => split.moving_time))).toBe(moving_time);
    }
  });

  it('summary, detail and photosOf count the same photos', () => {
    const counts = life.map((activity) => {
      const count = summaryOf(activity).total_photo_count;
      expect(photosOf(activity)).toHaveLength(count);
      expect(detailOf(activity).photos.count).toBe(count);
      expect(detailOf(activity).photos.primary === null).toBe(count === 0);
      return count;
    });
    expect(Math.max(...counts)).toBeGreaterThan(0);
    expect(counts.filter((count) => count > 0).length).toBeLessThan(counts.length / 3);
  });

  it('zonesOf counts every sampled second in one zone', () => {
    const { time } = streamsOf(one, ['time'])!;
    for (const zone of zonesOf(one)) {
      expect(sum(zone.distribution_buckets.map((bucket) => bucket.time))).toBe(time!.length - 1);
    }
  });

  it('the map follows the recorded positions', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(
          ...life.filter(({ indoor, manual, sport }) => !indoor && !manual && sport !== 'Swim'),
        ),
        (activity) => {
          const { map, start_latlng, end_latlng } = detailOf(activity);
          for (const polyline of [map.polyline!, map.summary_polyline]) {
            const points = decode(polyline);
            expect(points[0]![0]).toBeCloseTo(start_latlng[0]!, 4);
            expect(points.at(-1)![1]).toBeCloseTo(end_latlng[1]!, 3);
          }
        },
      ),
      { numRuns: 40 },
    );
  });

  it('summaries name gear that the athlete has', () => {
    for (const activity of life) {
      const { gear, gear_id } = detailOf(activity);
      expect(gear?.id ?? null).toBe(gear_id);
    }
  });
});

function sum(values: number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

/** Decodes a polyline as Google describes it. This code shares nothing with the encoder. */
function decode(polyline: string): [number, number][] {
  const points: [number, number][] = [];
  let at = 0;
  let lat = 0;
  let lng = 0;
  const next = () => {
    let value = 0;
    let shift = 0;
    let chunk: number;
    do {
      chunk = polyline.charCodeAt(at++) - 63;
      value |= (chunk & 0x1f) << shift;
      shift += 5;
    } while (chunk >= 0x20);
    return value & 1 ? ~(value >> 1) : value >> 1;
  };
  while (at < polyline.length) {
    lat += next();
    lng += next();
    points.push([lat / 1e5, lng / 1e5]);
  }
  return points;
}
