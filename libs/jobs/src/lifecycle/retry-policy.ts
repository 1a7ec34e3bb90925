const SECOND_MS = 1_000;
const FIRST_MS = 30 * SECOND_MS;
const LONGEST_MS = 60 * 60 * SECOND_MS;

/** So many claims at most, the ones that killed their worker included. */
export const MOST_ATTEMPTS = 3;
/** People wait for theirs. */
export const PRIORITY = { auto_poll: 0, manual_latest: 10, manual_activity: 10 } as const;

/**
 * After the first, second, third … attempt: 30 s, 1 min, 2 min … an hour at most. Jobs that failed together do not come back
 * together: between half of it and the whole.
 */
export function retryAfterMs(attempt: number, random: () => number = Math.random): number {
  const wholeMs = Math.min(LONGEST_MS, FIRST_MS * 2 ** (attempt - 1));
  return (wholeMs * (1 + random())) / 2;
}
