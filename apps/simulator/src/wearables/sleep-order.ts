import { z } from 'zod';

/** What `POST` and `PATCH /__sim/sleep` take; everything left out stays as it is, or as the seed has it. */
export const SleepOrder = z.object({
  /** Local day of waking. */
  date: z.iso.date().optional(),
  /** Wins over `date`. */
  ends_at: z.iso.datetime({ offset: true }).optional(),
  /** Time asleep, not time in bed. */
  duration_minutes: z.number().int().min(1).max(1200).optional(),
  nap: z.boolean().optional(),
  score: z.number().int().min(1).max(100).nullable().optional(),
  state: z.enum(['SCORED', 'PENDING_SCORE', 'UNSCORABLE']).optional(),
  /** A pending night scores itself after this long (vendor seconds). WHOOP only. */
  score_after_seconds: z.number().min(0).max(86_400).optional(),
  /** The user's verdict on the sleep. Oura only. */
  type: z.enum(['long_sleep', 'sleep', 'late_nap', 'rest', 'deleted']).optional(),
  /** Only what the vendor guarantees; the rest null or absent. */
  sparse: z.boolean().optional(),
});
export type SleepOrder = z.infer<typeof SleepOrder>;
