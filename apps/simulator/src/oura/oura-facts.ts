/** What Oura publishes, and the numbers chosen where it is silent. Seconds and days are the vendor's, before TIME_SCALE. */

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

/** This answer to an event ends the subscription it came from. */
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

/** The older text's number for one token; Oura publishes none for the application, so it is ten tokens' worth. */
export const RATE_LIMIT = { windowSeconds: 300, perToken: 5_000, perApplication: 50_000 } as const;

export const LIST_PAGE_SIZE = 50;

/** People open the app some time after waking; only then do their nights exist for Oura. */
export const SYNCED_AFTER_WAKING_MS = 20 * 60_000;

/** The past of somebody invented on the authorize page. */
export const NEWCOMERS_NIGHTS = 30;
