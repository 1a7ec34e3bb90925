import { z } from 'zod';
import { type Activity, createHistory, SPORT_TYPES, truthOf } from '#training-world';
import { makeActivity, readWorkoutOrder } from '../control/workout-order.js';
import { type Athlete, type Core } from '../core/index.js';
import { startOfToday } from '../wearables/plan-night.js';
import { chanceOf, exerciseIdOf, type PolarExercise, type RecordingForm } from './exercise-log.js';
import { UPLOADED_AFTER_MS } from './polar-facts.js';

const Name = z.string().min(1).max(64).nullable();
const Percent = z.number().min(-50).max(50);
const Rate = z.int().min(1).max(60);
const Moment = z.iso.datetime({ offset: true }).transform((text) => Date.parse(text));

/** Polar's own part of `POST /__sim/activities`; the rest is the same as for Strava. */
const ExerciseOrder = z.object({
  /** Id of an activity at another vendor: the same workout, recorded by Polar's watch. */
  same_as: z.string().min(1).max(64).optional(),
  /** Differences from the other vendor's recording; by default a few seconds and percent that follow from the id. */
  start_shift_s: z.int().min(-86_400).max(86_400).optional(),
  duration_percent: Percent.optional(),
  distance_percent: Percent.optional(),
  /** Default: now. The start may lie long before it. */
  uploaded_at: Moment.optional(),
  sparse: z.boolean().default(false),
  sport: Name.optional(),
  detailed_sport_info: Name.optional(),
  calories: z.int().min(0).max(20_000).optional(),
  recording_rate: Rate.default(1),
  /** Exceptions by sample type: `{"3": 5}`. */
  recording_rates: z.record(z.string().regex(/^\d\d?$/), Rate).default({}),
  rr: z.boolean().default(false),
  gap_s: z.int().min(0).max(86_400).default(0),
});
type ExerciseOrder = z.infer<typeof ExerciseOrder>;

/** The body of `PATCH /__sim/activities/{id}` for a session at Polar. */
export const ExerciseEdit = z.object({
  name: z.string().min(1).max(255).optional(),
  sport_type: z.enum(SPORT_TYPES).optional(),
  sport: Name.optional(),
  detailed_sport_info: Name.optional(),
  calories: z.int().min(0).max(20_000).optional(),
});
export type ExerciseEdit = z.infer<typeof ExerciseEdit>;

const LARGEST_SHIFT_S = 30;
const LARGEST_DURATION_PERCENT = 2;
const LARGEST_DISTANCE_PERCENT = 1;

/**
 * The session `number` of all that were ordered. Throws a `ZodError` that names the field, also if `same_as` names no
 * activity.
 */
export function makeExercise(core: Core, number: number, athlete: Athlete, body: unknown): PolarExercise {
  const order = ExerciseOrder.parse(body ?? {});
  const id = exerciseIdOf(athlete.id, number);
  const nowMs = core.clock.nowMs();
  const twin = order.same_as === undefined ? undefined : twinOf(core, order.same_as, order, id);
  return {
    id,
    athleteId: athlete.id,
    plannedFor: twin?.plannedFor ?? { vendor: 'polar', id: athlete.id },
    activity: twin?.activity ?? newActivity(athlete, body, number, nowMs),
    form: { ...formOf(id, order), ...twin?.form },
    uploadedAtMs: order.uploaded_at ?? nowMs,
    version: 1,
  };
}

/** The sessions before the athlete's creation, each uploaded soon after its end. */
export function pastExercises(athlete: Athlete, count: number): PolarExercise[] {
  const { id: athleteId, seed, profile, createdAtMs } = athlete;
  const endsAtMs = startOfToday(profile, createdAtMs);
  return createHistory({ seed, count, endsAtMs, athlete: profile }).map((activity) => {
    const id = exerciseIdOf(athleteId, 'past', activity.id);
    const endMs = activity.startMs + truthOf(activity).elapsed_time_s * 1000;
    return {
      id,
      athleteId,
      plannedFor: { vendor: 'polar', id: athleteId },
      activity,
      form: formOf(id),
      uploadedAtMs: endMs + UPLOADED_AFTER_MS,
      version: 1,
    };
  });
}

function formOf(id: string, order: ExerciseOrder = ExerciseOrder.parse({})): RecordingForm {
  return {
    durationFactor: 1,
    distanceFactor: 1,
    extraMs: Math.floor(1000 * chanceOf(id, 'fraction')),
    isTwin: false,
    isSparse: order.sparse,
    sport: order.sport,
    detailedSport: order.detailed_sport_info,
    calories: order.calories,
    rate: order.recording_rate,
    rates: order.recording_rates,
    hasRr: order.rr,
    gapS: order.gap_s,
  };
}

/** `createActivity` derives the seed from the id, so the number is far from the ids of the histories. */
const FIRST_NUMBER = 9_000_000_000;

function newActivity(athlete: Athlete, body: unknown, number: number, nowMs: number): Activity {
  const order = { ...readWorkoutOrder(body), id: undefined };
  return makeActivity(order, athlete.profile, String(FIRST_NUMBER + number), nowMs);
}

function twinOf(
  core: Core,
  otherId: string,
  order: ExerciseOrder,
  id: string,
): Pick<PolarExercise, 'activity' | 'plannedFor'> & { form: Partial<RecordingForm> } {
  for (const [vendor, controls] of core.controls.all()) {
    const activity = controls.workoutOf?.(otherId);
    if (!activity) continue;
    const shiftS = order.start_shift_s ?? Math.round(between(id, 'shift', LARGEST_SHIFT_S));
    const percent = order.duration_percent ?? between(id, 'duration', LARGEST_DURATION_PERCENT);
    const metresPercent = order.distance_percent ?? between(id, 'distance', LARGEST_DISTANCE_PERCENT);
    return {
      plannedFor: { vendor, id: activity.athlete.id },
      activity: { ...activity, startMs: activity.startMs + shiftS * 1000 },
      form: { durationFactor: 1 + percent / 100, distanceFactor: 1 + metresPercent / 100, isTwin: true },
    };
  }
  const message = `there is no activity ${otherId}`;
  throw new z.ZodError([{ code: 'custom', path: ['same_as'], message, input: otherId }]);
}

function between(id: string, purpose: string, most: number): number {
  return most * (2 * chanceOf(id, purpose) - 1);
}
