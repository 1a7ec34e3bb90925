import { setImmediate } from 'node:timers/promises';

const DEADLINE_MS = 10_000;

/**
 * Asks again, as soon as the event loop has turned, until the condition holds; never waits a fixed time. The condition's
 * own work (a query, a request) is the pause.
 */
export async function eventually<T>(
  what: string,
  condition: () => Promise<T> | T,
  deadlineMs = DEADLINE_MS,
): Promise<NonNullable<T>> {
  const endsAt = performance.now() + deadlineMs;
  let lastError: unknown;
  while (performance.now() < endsAt) {
    try {
      const value = await condition();
      if (value) return value;
    } catch (error) {
      lastError = error;
    }
    await setImmediate();
  }
  throw new Error(`${what}: not within ${deadlineMs} ms`, { cause: lastError });
}
