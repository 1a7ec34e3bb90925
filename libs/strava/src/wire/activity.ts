import { z } from 'zod';
import { flag, Id, maybe, Moment, numberOr, Seconds } from './values.js';

export interface ActivityMap {
  readonly polyline: string | null;
  readonly summaryPolyline: string | null;
}

/** An activity as a list shows it. */
export interface SummaryActivity {
  readonly id: string;
  readonly name: string;
  readonly sportType: string;
  readonly startTime: Date;
  readonly utcOffsetS: number;
  /** `Europe/Berlin`; Strava writes `(GMT+01:00) Europe/Berlin`. */
  readonly timezone: string | null;
  readonly distanceM: number;
  readonly movingTimeS: number;
  readonly elapsedTimeS: number;
  readonly elevationGainM: number;
  readonly averageHeartrate: number | null;
  readonly maxHeartrate: number | null;
  readonly manual: boolean;
  readonly private: boolean;
  readonly visibility: string | null;
  readonly externalId: string | null;
  readonly uploadId: string | null;
  readonly totalPhotoCount: number;
  readonly map: ActivityMap | null;
  /** As Strava sent it, but for integers beyond 2^53, which are strings. */
  readonly raw: Readonly<Record<string, unknown>>;
}

export interface DetailedActivity extends SummaryActivity {
  readonly description: string | null;
  readonly calories: number | null;
  readonly laps: readonly unknown[];
  /** Per kilometre. */
  readonly splits: readonly unknown[];
}

const WireMap = z.object({ polyline: maybe(z.string()), summary_polyline: maybe(z.string()) });

const WireSummary = z
  .object({
    id: Id,
    name: z
      .string()
      .nullish()
      .transform((name) => name ?? ''),
    sport_type: z.string().min(1).optional(),
    /** Older than `sport_type`, and coarser. */
    type: z.string().min(1).optional(),
    start_date: Moment,
    utc_offset: numberOr(0),
    timezone: maybe(z.string()),
    distance: numberOr(0),
    moving_time: Seconds.nullish(),
    elapsed_time: Seconds,
    total_elevation_gain: numberOr(0),
    average_heartrate: maybe(z.number()),
    max_heartrate: maybe(z.number()),
    manual: flag,
    private: flag,
    visibility: maybe(z.string()),
    external_id: maybe(z.string()),
    upload_id: maybe(Id),
    total_photo_count: numberOr(0),
    map: maybe(WireMap),
  })
  .refine(({ sport_type, type }) => sport_type ?? type, { path: ['sport_type'], message: 'is missing' });

const list = z
  .array(z.unknown())
  .nullish()
  .transform((items) => items ?? []);

const WireDetail = z.object({
  description: maybe(z.string()),
  calories: maybe(z.number()),
  laps: list,
  splits_metric: list,
});

const Raw = z.record(z.string(), z.unknown());

/** The only places that know how Strava spells an activity. Throw a ZodError. */
export function toSummary(json: unknown): SummaryActivity {
  const wire = WireSummary.parse(json);
  return {
    id: wire.id,
    name: wire.name,
    sportType: wire.sport_type ?? wire.type ?? '',
    startTime: wire.start_date,
    utcOffsetS: Math.round(wire.utc_offset),
    timezone: wire.timezone && ianaName(wire.timezone),
    distanceM: wire.distance,
    movingTimeS: wire.moving_time ?? wire.elapsed_time,
    elapsedTimeS: wire.elapsed_time,
    elevationGainM: wire.total_elevation_gain,
    averageHeartrate: wire.average_heartrate,
    maxHeartrate: wire.max_heartrate,
    manual: wire.manual,
    private: wire.private,
    visibility: wire.visibility,
    externalId: wire.external_id,
    uploadId: wire.upload_id,
    totalPhotoCount: Math.round(wire.total_photo_count),
    map: wire.map && { polyline: wire.map.polyline, summaryPolyline: wire.map.summary_polyline },
    raw: Raw.parse(json),
  };
}

export function toDetail(json: unknown): DetailedActivity {
  const { description, calories, laps, splits_metric: splits } = WireDetail.parse(json);
  return { ...toSummary(json), description, calories, laps, splits };
}

function ianaName(text: string): string {
  return text.replace(/^\(GMT[^)]*\)\s*/, '');
}
