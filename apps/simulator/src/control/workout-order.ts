import { z } from 'zod';
import {
  type Activity,
  type ActivityOptions,
  type AthleteProfile,
  createActivity,
  type Profile,
  SPORT_TYPES,
  STREAM_KEYS,
  truthOf,
} from '#training-world';
import { Digits } from '../core/index.js';

const PROFILES = [
  'easy',
  'recovery',
  'steady',
  'tempo',
  'progression',
  'intervals',
  'hills',
  'long',
  'race',
  'ride',
  'walk',
  'hike',
  'swim',
  'strength',
  'manual',
] as const satisfies readonly Profile[];

const Positive = z.number().positive();
const Seconds = z.number().min(0);
export const Moment = z.iso.datetime({ offset: true }).transform((text) => Date.parse(text));

const Stop = z.object({ after_moving_s: Seconds, seconds: Positive, paused: z.boolean().default(true) });

/** The body of `POST /__sim/activities`. For the totals, Strava's own field names are accepted as well. */
const WorkoutOrder = z.object({
  id: Digits.optional(),
  seed: z.int().optional(),
  start_date: Moment.optional(),
  sport_type: z.enum(SPORT_TYPES).optional(),
  type: z.enum(SPORT_TYPES).optional(),
  profile: z.enum(PROFILES).optional(),
  repetitions: z.int().positive().max(100).optional(),
  repetition_distance_m: Positive.optional(),
  repetition_duration_s: Positive.optional(),
  recovery_duration_s: Positive.optional(),
  recovery: z.enum(['jog', 'stand']).optional(),
  warmup_s: Seconds.optional(),
  cooldown_s: Seconds.optional(),
  pace_s_per_km: Positive.optional(),
  power_w: Positive.optional(),
  duration_s: Positive.max(86_400).optional(),
  moving_time: Positive.max(86_400).optional(),
  elapsed_time: Positive.max(86_400).optional(),
  distance_m: Positive.max(1_000_000).optional(),
  distance: Positive.max(1_000_000).optional(),
  stops: z.array(Stop).max(100).optional(),
  missing_channels: z.array(z.enum(STREAM_KEYS)).optional(),
  heart_rate_drift_percent: z.number().optional(),
  photos: z.int().min(0).max(50).optional(),
  manual: z.boolean().optional(),
  indoor: z.boolean().optional(),
  trainer: z.boolean().optional(),
  commute: z.boolean().optional(),
  name: z.string().min(1).max(255).optional(),
  description: z.string().nullable().optional(),
  private: z.boolean().optional(),
  hide_start_time: z.boolean().optional(),
  /** Seconds between the upload and its streams, before TIME_SCALE. */
  streams_late_s: Seconds.optional(),
});

type WorkoutOrder = z.infer<typeof WorkoutOrder>;

export function readWorkoutOrder(body: unknown): WorkoutOrder {
  return WorkoutOrder.parse(body ?? {});
}

const SETTLING_MS = 60_000;

/** Makes an ordered activity. Without a start date the workout ended a minute ago. */
export function makeActivity(
  order: WorkoutOrder,
  athlete: AthleteProfile,
  freeId: string,
  nowMs: number,
): Activity {
  const options = optionsOf(order, athlete, order.id ?? freeId);
  if (order.start_date !== undefined) return createActivity({ ...options, startMs: order.start_date });
  const elapsedMs = truthOf(createActivity({ ...options, startMs: nowMs })).elapsed_time_s * 1000;
  return createActivity({ ...options, startMs: wholeSecond(nowMs - elapsedMs - SETTLING_MS) });
}

function optionsOf(
  order: WorkoutOrder,
  athlete: AthleteProfile,
  id: string,
): Omit<ActivityOptions, 'startMs'> {
  return {
    id,
    athlete,
    seed: order.seed,
    sport: order.sport_type ?? order.type,
    profile: order.profile,
    repetitions: order.repetitions,
    repetitionDistanceM: order.repetition_distance_m,
    repetitionDurationS: order.repetition_duration_s,
    recoveryDurationS: order.recovery_duration_s,
    recovery: order.recovery,
    warmupS: order.warmup_s,
    cooldownS: order.cooldown_s,
    paceSPerKm: order.pace_s_per_km,
    powerW: order.power_w,
    durationS: order.duration_s ?? order.moving_time ?? order.elapsed_time,
    distanceM: order.distance_m ?? order.distance,
    stops: order.stops?.map(({ after_moving_s, ...stop }) => ({ ...stop, afterMovingS: after_moving_s })),
    missingChannels: order.missing_channels,
    heartRateDriftPercent: order.heart_rate_drift_percent,
    photos: order.photos,
    manual: order.manual,
    indoor: order.indoor ?? order.trainer,
    commute: order.commute,
    overrides: overridesOf(order),
  };
}

function overridesOf({
  name,
  description,
  hide_start_time,
  private: isPrivate,
}: WorkoutOrder): ActivityOptions['overrides'] {
  return {
    ...(name !== undefined && { name }),
    ...(description !== undefined && { description }),
    ...(isPrivate !== undefined && { private: isPrivate }),
    ...(hide_start_time !== undefined && { hide_start_time }),
  };
}

function wholeSecond(ms: number): number {
  return Math.floor(ms / 1000) * 1000;
}
