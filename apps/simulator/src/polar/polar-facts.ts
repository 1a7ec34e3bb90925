import { z } from 'zod';

/** Numbers that Polar publishes, and our choices if it publishes none. Seconds are before TIME_SCALE. */

/** The only scope. */
export const SCOPE = 'accesslink.read_all';

/** The limits grow with the registered users: `base + perUser · users`. Each window begins with its first call. */
export const RATE_LIMITS = [
  { name: 'quarter_hour', seconds: 900, base: 500, perUser: 20 },
  { name: 'day', seconds: 86_400, base: 5_000, perUser: 100 },
] as const;

export const WEBHOOK_EVENTS = [
  'EXERCISE',
  'SLEEP',
  'CONTINUOUS_HEART_RATE',
  'SLEEP_WISE_CIRCADIAN_BEDTIME',
  'SLEEP_WISE_ALERTNESS',
  'ACTIVITY_SUMMARY',
  'PHYSICAL_INFORMATION',
] as const;
export type WebhookEvent = (typeof WEBHOOK_EVENTS)[number];

export const DEACTIVATED_AFTER_SECONDS = 7 * 86_400;

/** Days of data that a list covers. They compare timestamps, which are real, so TIME_SCALE does not divide them. */
export const EXERCISE_DAYS = 30;
export const SLEEP_DAYS = 28;

/** We assume that a watch uploads a session or a night soon after its end. */
export const UPLOADED_AFTER_MS = 4 * 60_000;

/** Past sessions and nights of an athlete made on the consent page. None is visible: they are older than any registration. */
export const NEW_ATHLETE_RECORDS = 30;

const Delay = z.number().min(0).max(604_800);

/** Behaviour that Polar's documents leave open or on which sources differ. */
export const PolarHabits = z.object({
  /** Empty: every redirect URL is accepted. The first is the default, to which errors go. */
  redirect_urls: z.array(z.url({ protocol: /^https?$/ })).max(10),
  access_token_seconds: z.int().min(1).max(31_536_000),
  invalid_client_status: z.literal([400, 401]),
  /** Tokens that a second use of a code deletes: those issued from it, or all of the athlete. */
  reused_code_deletes: z.enum(['its_tokens', 'all_tokens']),
  new_token_revokes_old: z.boolean(),
  /** Answer to a token that the user has revoked. */
  revoked_status: z.literal([401, 403]),
  /** True: a revocation also ends the registration, so that a new one sees no older data. */
  revocation_unregisters: z.boolean(),
  /** Answer to data calls before the registration. */
  unregistered_status: z.literal([401, 403, 404]),
  /** DELETE of a user that is not registered. */
  unknown_user_delete_status: z.literal([401, 404]),
  longest_member_id: z.int().min(1).max(10_000),
  /** How often the number of users in the limits is counted again; 0: at every call. */
  users_counted_every_seconds: z.number().min(0).max(604_800),
  token_calls_count: z.boolean(),
  webhook_calls_count: z.boolean(),
  retry_after_on_429: z.boolean(),
  /** Format of an answer to a request whose `Accept` does not name JSON. */
  without_accept: z.enum(['json', 'xml']),
  empty_list_status: z.literal([200, 204]),
  list_order: z.enum(['oldest_first', 'newest_first']),
  /** `ignored`: Polar keeps serving the content from before an edit or a deletion by the athlete. */
  edits_and_deletions: z.enum(['applied', 'ignored']),
  /** True: an edited session or a corrected night sends its event again. */
  edits_send_events: z.boolean(),
  manual_sessions_delivered: z.boolean(),
  /** `counted`: the duration contains the pauses and samples are null during them. `cut`: neither knows of pauses. */
  pauses: z.enum(['counted', 'cut']),
  /** Time of the first sample: the start, or one recording interval later. */
  first_sample: z.enum(['at_start', 'after_interval']),
  gap: z.enum(['null', 'empty', 'zero']),
  distance_samples: z.enum(['cumulative', 'per_sample']),
  /** The recording rate of RR intervals, which have no grid. */
  rr_recording_rate: z.literal([null, 0]),
  without_samples: z.enum(['absent', 'empty']),
  /** Type that every session with samples lists twice; null: none. */
  repeated_sample_type: z.string().max(2).nullable(),
  no_fit_status: z.literal([204, 404]),
  /** `encoding`: TCX is plain XML with `Content-Encoding: gzip`. `body`: the gzip file is the body. */
  tcx_gzip: z.enum(['encoding', 'body']),
  /** `date` of a night: the local day of waking, or that of falling asleep. */
  sleep_date: z.enum(['waking', 'falling_asleep']),
  /** `sleep_score` of a night without a score. */
  missing_sleep_score: z.enum(['zero', 'absent']),
  ping_signed: z.boolean(),
  /** True: events go on after a revocation or deregistration. */
  events_after_revocation: z.boolean(),
  /** A network time-out: never scaled. */
  delivery_timeout_ms: z.number().min(1).max(600_000),
  retry_delays_seconds: z.array(Delay).max(100),
  /** `timestamp` of a retry: the moment of sending, or that of the first attempt. */
  retry_timestamp: z.enum(['fresh', 'first']),
  /** True: events of a deactivated webhook wait for its activation; false: they are lost. */
  missed_events_sent_on_activation: z.boolean(),
});

export const DEFAULT_HABITS: z.infer<typeof PolarHabits> = {
  redirect_urls: [],
  // One second less than a year, as in the vendor's example.
  access_token_seconds: 31_535_999,
  invalid_client_status: 400,
  reused_code_deletes: 'its_tokens',
  new_token_revokes_old: false,
  revoked_status: 401,
  revocation_unregisters: true,
  unregistered_status: 403,
  unknown_user_delete_status: 404,
  longest_member_id: 255,
  users_counted_every_seconds: 86_400,
  token_calls_count: false,
  webhook_calls_count: true,
  retry_after_on_429: false,
  without_accept: 'json',
  empty_list_status: 200,
  list_order: 'oldest_first',
  edits_and_deletions: 'applied',
  edits_send_events: false,
  manual_sessions_delivered: false,
  pauses: 'counted',
  first_sample: 'at_start',
  gap: 'null',
  distance_samples: 'cumulative',
  rr_recording_rate: null,
  without_samples: 'absent',
  repeated_sample_type: null,
  no_fit_status: 204,
  tcx_gzip: 'encoding',
  sleep_date: 'waking',
  missing_sleep_score: 'zero',
  ping_signed: false,
  events_after_revocation: false,
  delivery_timeout_ms: 10_000,
  // Six retries over about a day.
  retry_delays_seconds: [60, 300, 1_800, 7_200, 21_600, 54_000],
  retry_timestamp: 'fresh',
  missed_events_sent_on_activation: false,
};
