import { setTimeout as pause } from 'node:timers/promises';
import { within } from './within.js';

// A test waits this long only if it fails. On a busy machine a passing test needs a large part of this time.
const DEADLINE_MS = 30_000;
// A condition is often a query or a request, which takes processor time from the processes under test. So each pause is a quarter longer
// than the last one. After a tenth of a second of pauses they have reached their maximum.
const FIRST_PAUSE_MS = 5;
const LONGEST_PAUSE_MS = 25;
const GROWTH = 1.25;
// One check is a query or a request, and takes milliseconds. A check that takes longer than this hangs: its server does not answer.
const LONGEST_CHECK_MS = 60_000;

/**
 * Calls `condition` until its value is truthy, and returns that value. An error counts as false. Throws after the deadline, and also if one
 * call takes longer than 60 s and longer than the deadline.
 */
export async function eventually<T>(
  description: string,
  condition: () => Promise<T> | T,
  deadlineMs = DEADLINE_MS,
): Promise<NonNullable<T>> {
  const endsAt = performance.now() + deadlineMs;
  const checkMs = Math.max(LONGEST_CHECK_MS, deadlineMs);
  let lastError: unknown;
  let pauseMs = FIRST_PAUSE_MS;
  while (performance.now() < endsAt) {
    try {
      const value = await within('one check', checkMs, Promise.resolve(condition()));
      if (value) return value;
    } catch (error) {
      lastError = error;
    }
    await pause(pauseMs);
    pauseMs = Math.min(pauseMs * GROWTH, LONGEST_PAUSE_MS);
  }
  throw new Error(`${description}: not within ${deadlineMs} ms`, { cause: lastError });
}
