import { z } from 'zod';

/** Numbers that WHOOP publishes, and our own choices where WHOOP publishes none. Seconds are before TIME_SCALE. */

export const SCOPES = [
  'offline',
  'read:sleep',
  'read:recovery',
  'read:cycles',
  'read:workout',
  'read:profile',
  'read:body_measurement',
] as const;

/** Without this scope the token answer has no refresh token. */
export const OFFLINE_SCOPE = 'offline';

export const RATE_LIMITS = [
  { name: 'minute', seconds: 60, limit: 100 },
  { name: 'day', seconds: 86_400, limit: 10_000 },
] as const;

export const LIST_DEFAULT = 10;
export const LIST_MAXIMUM = 25;

/** Time from waking to the score of a past night. */
export const SCORED_AFTER_WAKING_MS = 26 * 60_000;

/** Past nights of an athlete made on the consent page. */
export const NEW_ATHLETE_NIGHTS = 30;

/** Behaviour that WHOOP's documents leave open. */
export const WhoopHabits = z.object({
  /** A network time-out: never scaled. */
  delivery_timeout_ms: z.number().min(1).max(600_000),
  retry_delays_seconds: z.array(z.number().min(0).max(86_400)).max(100),
  /** `fresh`: a retry has a new trace_id and looks like another event. Only the fetched document shows the repetition. */
  retry_trace_id: z.enum(['same', 'fresh']),
  access_token_seconds: z.int().min(1).max(31_536_000),
  refresh_rotates: z.boolean(),
});

export const DEFAULT_HABITS: z.infer<typeof WhoopHabits> = {
  delivery_timeout_ms: 10_000,
  // Five retries over an hour.
  retry_delays_seconds: [60, 180, 420, 960, 1980],
  retry_trace_id: 'same',
  access_token_seconds: 3600,
  refresh_rotates: true,
};
