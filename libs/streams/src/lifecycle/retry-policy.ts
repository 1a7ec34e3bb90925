import { type TimeScale } from '#platform';

const MINUTE_MS = 60_000;

/** After three failures the streams are not tried again until an operator resets them. */
export const MOST_ATTEMPTS = 3;
/**
 * Delay after a failure, counted from the attempt.
 *
 * | failure | delay  | after the first attempt                        |
 * | ------- | ------ | ---------------------------------------------- |
 * | first   | 1 min  | 1 min                                          |
 * | second  | 5 min  | 6 min                                          |
 * | third   | 30 min | never: only if MOST_ATTEMPTS is raised above 3 |
 */
const RETRY_AFTER_MS = [1 * MINUTE_MS, 5 * MINUTE_MS, 30 * MINUTE_MS];
/** Delays for a fresh upload without streams: retries 5, 20 and 65 minutes after the first attempt, then `unavailable`. */
export const EMPTY_AFTER_MS = [5 * MINUTE_MS, 15 * MINUTE_MS, 45 * MINUTE_MS];
/** An activity without streams becomes `unavailable` if its end and its create event are longer ago than this. */
export const FRESH_FOR_MS = 24 * 60 * MINUTE_MS;
/** Length of a deferral if the vendor names no time. */
export const DEFER_MS = 15 * MINUTE_MS;
/** If an attempt takes longer than this, its worker counts as dead. */
export const STALE_AFTER_MS = 10 * MINUTE_MS;

/** Arguments of the database function `stream_fetch_due_at`: most attempts, and the delay after each failure. */
export function retryArguments(scale: TimeScale): readonly [number, readonly number[]] {
  return [MOST_ATTEMPTS, RETRY_AFTER_MS.map(scale.wait)];
}
