const SECOND_MS = 1_000;
const FIRST_MS = 30 * SECOND_MS;
const LONGEST_MS = 60 * 60 * SECOND_MS;

/** Attempts per job. A job that has lost workers gets up to two more. */
export const MOST_ATTEMPTS = 3;
/**
 * A job fails for good when this many workers have died while they ran it and its attempts are used. The first worker ran other jobs beside
 * it; the next two ran only this job. One such worker is not enough, because it may have been killed for another reason.
 */
export const MOST_LOST_WORKERS = 3;
/** Requests of people run before automatic ones. */
export const PRIORITY = { auto_poll: 0, manual_latest: 10, manual_activity: 10 } as const;

/**
 * The wait after a failed attempt, doubled each time up to an hour. It is random between half and the whole, so that jobs
 * that failed together are not retried together.
 *
 * | after attempt | wait        | in total |
 * | ------------- | ----------- | -------- |
 * | 1             | 15 to 30 s  | 30 s     |
 * | 2             | 30 to 60 s  | 1.5 min  |
 * | 3             | none: the job fails for good | |
 */
export function retryAfterMs(attempt: number, random: () => number = Math.random): number {
  const wholeMs = Math.min(LONGEST_MS, FIRST_MS * 2 ** (attempt - 1));
  return (wholeMs * (1 + random())) / 2;
}
