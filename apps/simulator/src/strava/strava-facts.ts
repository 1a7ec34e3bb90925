import { z } from 'zod';
import { type BucketPlan, type TokenPolicy } from '../core/index.js';

const QUARTER_SECONDS = 900;
const DAY_SECONDS = 86_400;

/** The four buckets of the default tier. Each of the two windows has an overall count and a "read" count without uploads. */
export const STRAVA_BUCKETS: readonly BucketPlan[] = [
  { name: 'read_15min', seconds: QUARTER_SECONDS, limit: 100, scope: 'app' },
  { name: 'read_day', seconds: DAY_SECONDS, limit: 1_000, scope: 'app' },
  { name: 'overall_15min', seconds: QUARTER_SECONDS, limit: 200, scope: 'app' },
  { name: 'overall_day', seconds: DAY_SECONDS, limit: 2_000, scope: 'app' },
];

/** An access token lives six hours. A refresh renews it only in the last hour, and then rotates the refresh token. */
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
/** Strava makes three attempts. The delays are not documented; one server saw about two minutes. */
export const WEBHOOK_RETRY_DELAYS_MS = [120_000, 120_000];

export const DEFAULT_PAGE_SIZE = 30;
export const LARGEST_PAGE_SIZE = 200;
export const LONGEST_CALLBACK_URL = 255;

/** Content type for a body that the simulator has already written as JSON text. */
export const JSON_TYPE = 'application/json; charset=utf-8';

/**
 * The changes that Strava has announced (1 June 2026). From 2027-01-04 on the API also answers at api-v3.strava.com, without `/api/v3`; an
 * end of the old host is not announced. From 2027-06-01 on access tokens are accepted in headers only, and `/oauth/deauthorize` is gone.
 * The OAuth routes stay where they are.
 */
export const StravaHabits = z.strictObject({
  api_host: z.enum(['old', 'both', 'new']),
  tokens_in: z.enum(['header or parameter', 'header']),
  deauthorize: z.boolean(),
});

export const HABITS_OF_2026: z.infer<typeof StravaHabits> = {
  api_host: 'old',
  tokens_in: 'header or parameter',
  deauthorize: true,
};
