import { z } from 'zod';

const Text = z.string().min(1).max(100);

/** Choices where Oura's documents and real deliveries disagree or are silent. */
export const OuraHabits = z.object({
  /** Real deliveries carry 13 digits, the vendor's sample 10. */
  timestamp_unit: z.enum(['ms', 's']),
  /** `first`: a retry repeats the first attempt's timestamp and signature, so it looks stale to a replay check. */
  retry_timestamp: z.enum(['fresh', 'first']),
  retry_delays_seconds: z.array(z.number().min(0).max(86_400)).max(100),
  /** What the POST answers when the callback failed its challenge. */
  failed_challenge_status: z.int().min(400).max(499),
  /** How `X-RateLimit-Tier` names the two layers. */
  token_tier: Text,
  application_tier: Text,
  refresh_rotates: z.boolean(),
});

export const AS_NEW: z.infer<typeof OuraHabits> = {
  timestamp_unit: 'ms',
  retry_timestamp: 'fresh',
  // Ten retries, an hour in all.
  retry_delays_seconds: [10, 20, 40, 80, 160, 320, 480, 600, 840, 1050],
  failed_challenge_status: 422,
  token_tier: 'token',
  application_tier: 'application',
  refresh_rotates: true,
};
