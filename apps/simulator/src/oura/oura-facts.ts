import { z } from 'zod';

/** Numbers that Oura publishes, and our own choices where Oura publishes none. Seconds and days are before TIME_SCALE. */

export const EVENT_TYPES = ['create', 'update', 'delete'] as const;
export type EventType = (typeof EVENT_TYPES)[number];

export const DATA_TYPES = [
  'tag',
  'enhanced_tag',
  'workout',
  'session',
  'sleep',
  'daily_sleep',
  'daily_readiness',
  'daily_activity',
  'daily_spo2',
  'sleep_time',
  'rest_mode_period',
  'ring_configuration',
  'daily_stress',
  'daily_cycle_phases',
  'activation_status',
  'daily_cardiovascular_age',
  'daily_resilience',
  'vo2_max',
  'period_start',
  'pregnancy',
  'fertile_window',
  'ovulation_confirmed',
  'blood_glucose',
] as const;
export type DataType = (typeof DATA_TYPES)[number];

export const SUBSCRIPTION_LIFETIME_DAYS = 90;

/** A network time-out: never scaled. */
export const CHALLENGE_TIMEOUT_MS = 10_000;
export const DELIVERY_TIMEOUT_MS = 10_000;

/** If the challenge is late, the gateway answers the POST with this page after one minute (before TIME_SCALE). */
export const GATEWAY_TIMEOUT_MS = 60_000;
export const GATEWAY_TIMEOUT_PAGE = `<!DOCTYPE HTML PUBLIC "-//W3C//DTD HTML 4.01 Transitional//EN">
<HTML><HEAD><TITLE>ERROR: The request could not be satisfied</TITLE></HEAD>
<BODY><H1>504 Gateway Timeout ERROR</H1><H2>The request could not be satisfied.</H2></BODY></HTML>
`;

/** If the app answers an event with this status, Oura cancels the subscription. */
export const CANCELS_SUBSCRIPTION = 410;

export const SCOPES = [
  'email',
  'personal',
  'daily',
  'heartrate',
  'workout',
  'tag',
  'session',
  'spo2',
] as const;

export const ACCESS_TOKEN_SECONDS = 86_400;

/**
 * An older text of Oura says 5,000 per token. Oura publishes no number for the application; we assume 50,000.
 */
export const RATE_LIMIT = { windowSeconds: 300, perToken: 5_000, perApplication: 50_000 } as const;

export const LIST_PAGE_SIZE = 50;

/** Oura gets a night when the person opens the app. We assume 20 minutes after waking. */
export const SYNCED_AFTER_WAKING_MS = 20 * 60_000;

/** Past nights of an athlete made on the consent page. */
export const NEW_ATHLETE_NIGHTS = 30;

const Text = z.string().min(1).max(100);

/** Behaviour that Oura's documents do not describe, or describe differently from real deliveries. */
export const OuraHabits = z.object({
  /** Real deliveries carry 13 digits (`ms`). The vendor's sample carries 10 digits (`s`). */
  timestamp_unit: z.enum(['ms', 's']),
  /** `first`: a retry repeats the timestamp and signature of the first attempt. A replay check then sees an old timestamp. */
  retry_timestamp: z.enum(['fresh', 'first']),
  retry_delays_seconds: z.array(z.number().min(0).max(86_400)).max(100),
  /** Status of the answer to the POST if the callback fails the challenge. */
  failed_challenge_status: z.int().min(400).max(499),
  /** Status for a token without the required scope: five sources saw 401, one saw 403. */
  missing_scope_status: z.literal([401, 403]),
  /** Status for DELETE, PUT and renewal of an unknown subscription. Recordings show 404, the documents 403. A GET gets 403. */
  unknown_subscription_status: z.literal([403, 404]),
  /** The names of the two layers in the header `X-RateLimit-Tier`. */
  token_tier: Text,
  application_tier: Text,
  refresh_rotates: z.boolean(),
});

export const DEFAULT_HABITS: z.infer<typeof OuraHabits> = {
  timestamp_unit: 'ms',
  retry_timestamp: 'fresh',
  // Ten retries over about an hour.
  retry_delays_seconds: [10, 20, 40, 80, 160, 320, 480, 600, 840, 1050],
  failed_challenge_status: 422,
  missing_scope_status: 401,
  unknown_subscription_status: 404,
  token_tier: 'token',
  application_tier: 'application',
  refresh_rotates: true,
};
