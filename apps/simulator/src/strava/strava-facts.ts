import { type BucketPlan, type TokenPolicy } from '../core/index.js';

const QUARTER_SECONDS = 900;
const DAY_SECONDS = 86_400;

/** The four buckets of the default tier: two windows, each with an overall and a non-upload ("read") count. */
export const STRAVA_BUCKETS: readonly BucketPlan[] = [
  { name: 'read_15min', seconds: QUARTER_SECONDS, limit: 100, scope: 'app' },
  { name: 'read_day', seconds: DAY_SECONDS, limit: 1_000, scope: 'app' },
  { name: 'overall_15min', seconds: QUARTER_SECONDS, limit: 200, scope: 'app' },
  { name: 'overall_day', seconds: DAY_SECONDS, limit: 2_000, scope: 'app' },
];

/** Six hours, renewed only in the last of them; a refresh token is spent by its use. */
export const STRAVA_TOKENS: TokenPolicy = { lifetimeSeconds: 21_600, keepAboveShare: 1 / 6, rotates: true };

export const STRAVA_SCOPES = [
  'read',
  'read_all',
  'profile:read_all',
  'profile:write',
  'activity:read',
  'activity:read_all',
  'activity:write',
] as const;

export const SCOPES_OF_A_TEST_ATHLETE = ['read', 'profile:read_all', 'activity:read_all', 'activity:write'];

export const WEBHOOK_ACK_TIMEOUT_MS = 2_000;
/** Three attempts in all. The spacing is not documented; one server saw about two minutes. */
export const WEBHOOK_RETRY_DELAYS_MS = [120_000, 120_000];

export const DEFAULT_PAGE_SIZE = 30;
export const LARGEST_PAGE_SIZE = 200;
export const LONGEST_CALLBACK_URL = 255;
