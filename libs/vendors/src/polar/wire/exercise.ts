import { z } from 'zod';
import {
  type ActivityPage,
  type DetailedActivity,
  type UnreadableItem,
} from '../../capabilities/activities.js';
import { maybe, readPage } from '../../capabilities/reading.js';
import { nameOf, sportTypeOf } from './sports.js';
import { Duration, ExerciseId, positive } from './values.js';

const MINUTE_S = 60;
const LARGEST_OFFSET_MIN = 18 * 60;

const LocalTime = z
  .string()
  .regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?$/)
  .refine((text) => !Number.isNaN(Date.parse(`${text}Z`)), 'is no time');

/** The start is local. Without its offset the instant is unknown, so the exercise is refused and not dated by a guess. */
const Start = z.object({
  start_time: LocalTime,
  start_time_utc_offset: z.number().min(-LARGEST_OFFSET_MIN).max(LARGEST_OFFSET_MIN),
});

const WireExercise = Start.extend({
  id: ExerciseId,
  duration: maybe(Duration),
  distance: positive,
  calories: positive,
  heart_rate: maybe(z.object({ average: positive, maximum: positive })),
  sport: maybe(z.string()),
  detailed_sport_info: maybe(z.string()),
});

/**
 * Throws a ZodError if the document is no exercise. Polar sends no name, moving time, elevation gain, laps or photos: the moving time is the
 * duration, the other numbers are 0.
 */
export function toExercise(json: unknown): DetailedActivity {
  const wire = WireExercise.parse(json);
  const elapsedTimeS = Math.round(wire.duration ?? 0);
  return {
    id: wire.id,
    name: nameOf(wire.detailed_sport_info, wire.sport),
    sportType: sportTypeOf(wire.detailed_sport_info, wire.sport),
    startTime: startOf(wire),
    utcOffsetS: Math.round(wire.start_time_utc_offset * MINUTE_S),
    // An offset names no time zone.
    timezone: null,
    distanceM: wire.distance ?? 0,
    movingTimeS: elapsedTimeS,
    elapsedTimeS,
    elevationGainM: 0,
    averageHeartrate: wire.heart_rate?.average ?? null,
    maxHeartrate: wire.heart_rate?.maximum ?? null,
    manual: false,
    private: false,
    totalPhotoCount: 0,
    map: null,
    description: null,
    calories: wire.calories,
    laps: [],
    splits: [],
  };
}

const Items = z.array(z.unknown());
const PartlyReadable = z.object({
  id: ExerciseId.optional().catch(undefined),
  start: Start.optional().catch(undefined),
});

/** Polar's whole list. It may answer an empty list with 204. Throws a ZodError if the list has an unknown format. */
export function toExercises(json: unknown): ActivityPage {
  const items = json === undefined ? [] : Items.parse(json);
  const origin = { vendor: 'polar', endpoint: 'exercises' };
  const page = readPage(items, toExercise, unreadableItem, origin);
  return { ...page, details: page.activities };
}

function unreadableItem(item: unknown): UnreadableItem {
  const { data } = PartlyReadable.safeParse({ id: (item as { id?: unknown } | null)?.id, start: item });
  return { id: data?.id, startTime: data?.start && startOf(data.start) };
}

function startOf({ start_time, start_time_utc_offset }: z.output<typeof Start>): Date {
  return new Date(Date.parse(`${start_time}Z`) - start_time_utc_offset * MINUTE_S * 1_000);
}
