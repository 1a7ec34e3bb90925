import { type TimeScale } from '#platform';

const MINUTE_MS = 60_000;

/** After so many failures only a reset helps. */
export const MOST_ATTEMPTS = 3;
/** After the first, second, third … failure; the last holds for all that follow. */
export const RETRY_AFTER_MS = [1 * MINUTE_MS, 5 * MINUTE_MS, 30 * MINUTE_MS];
/** A fresh upload whose streams the vendor does not have yet is looked at again after these. */
export const EMPTY_AFTER_MS = [5 * MINUTE_MS, 15 * MINUTE_MS, 45 * MINUTE_MS];
/** So old, an activity without streams will never have any. */
export const FRESH_FOR_MS = 24 * 60 * MINUTE_MS;
/** Where nobody says until when. */
export const DEFER_MS = 15 * MINUTE_MS;
/** Nobody fetches for that long and lives. */
export const STALE_AFTER_MS = 10 * MINUTE_MS;

/** What `stream_fetch_due_at` has to be told: how many attempts at most, and how long after each failure. */
export function patienceAt(scale: TimeScale): readonly [number, readonly number[]] {
  return [MOST_ATTEMPTS, RETRY_AFTER_MS.map(scale.wait)];
}
