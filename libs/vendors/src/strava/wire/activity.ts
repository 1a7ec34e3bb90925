import { z } from 'zod';
import {
  type ActivityPage,
  type DetailedActivity,
  type SummaryActivity,
  type UnreadableItem,
} from '../../capabilities/activities.js';
import { maybe, readPage } from '../../capabilities/reading.js';
import { flag, Id, integerOr, Moment, numberOr, Seconds } from './values.js';

const WireMap = z.object({ polyline: maybe(z.string()), summary_polyline: maybe(z.string()) });

const WireSummary = z
  .object({
    id: Id,
    name: z
      .string()
      .nullish()
      .transform((name) => name ?? ''),
    sport_type: z.string().min(1).optional(),
    /** Deprecated by Strava in favour of `sport_type`. */
    type: z.string().min(1).optional(),
    start_date: Moment,
    utc_offset: integerOr(0),
    timezone: maybe(z.string()),
    distance: numberOr(0),
    moving_time: Seconds.nullish(),
    elapsed_time: Seconds,
    total_elevation_gain: numberOr(0),
    average_heartrate: maybe(z.number()),
    max_heartrate: maybe(z.number()),
    manual: flag,
    private: flag,
    total_photo_count: integerOr(0),
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

/** Throws a ZodError, as `toDetail` does. No other file reads Strava's field names of an activity. */
function toSummary(json: unknown): SummaryActivity {
  const wire = WireSummary.parse(json);
  return {
    id: wire.id,
    name: wire.name,
    sportType: wire.sport_type ?? wire.type ?? '',
    startTime: wire.start_date,
    utcOffsetS: wire.utc_offset,
    timezone: wire.timezone && ianaName(wire.timezone),
    distanceM: wire.distance,
    movingTimeS: wire.moving_time ?? wire.elapsed_time,
    elapsedTimeS: wire.elapsed_time,
    elevationGainM: wire.total_elevation_gain,
    averageHeartrate: wire.average_heartrate,
    maxHeartrate: wire.max_heartrate,
    manual: wire.manual,
    private: wire.private,
    totalPhotoCount: wire.total_photo_count,
    map: wire.map && { polyline: wire.map.polyline, summaryPolyline: wire.map.summary_polyline },
  };
}

export function toDetail(json: unknown): DetailedActivity {
  const { description, calories, laps, splits_metric: splits } = WireDetail.parse(json);
  return { ...toSummary(json), description, calories, laps, splits };
}

const PartlyReadable = z.object({
  id: Id.optional().catch(undefined),
  start_date: Moment.optional().catch(undefined),
});

/** A page of a list. Throws a ZodError if the whole page has an unknown format. */
export function toPage(items: readonly unknown[]): ActivityPage {
  return readPage(items, toSummary, unreadableItem, { vendor: 'strava', endpoint: 'activities' });
}

function unreadableItem(item: unknown): UnreadableItem {
  const { data } = PartlyReadable.safeParse(item);
  return { id: data?.id, startTime: data?.start_date };
}

function ianaName(text: string): string {
  return text.replace(/^\(GMT[^)]*\)\s*/, '');
}
