import { z } from 'zod';

/** Choices where WHOOP's documents are silent. */
export const WhoopHabits = z.object({
  /** A network time-out: never scaled. */
  delivery_timeout_ms: z.number().min(1).max(600_000),
  retry_delays_seconds: z.array(z.number().min(0).max(86_400)).max(100),
  /** `fresh`: a retry looks like another event, so that only what was fetched can tell it is none. */
  retry_trace_id: z.enum(['same', 'fresh']),
  access_token_seconds: z.int().min(1).max(31_536_000),
  refresh_rotates: z.boolean(),
});

export const AS_NEW: z.infer<typeof WhoopHabits> = {
  delivery_timeout_ms: 10_000,
  // Five retries, an hour in all.
  retry_delays_seconds: [60, 180, 420, 960, 1980],
  retry_trace_id: 'same',
  access_token_seconds: 3600,
  refresh_rotates: true,
};
