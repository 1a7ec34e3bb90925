import { setTimeout as pause } from 'node:timers/promises';

// Only a test that fails waits so long: a machine that others use may need much of it.
const DEADLINE_MS = 30_000;
// Without it, whoever waits takes the processor from what it waits for.
const BETWEEN_MS = 5;

/** Asks again until the condition holds; never waits a fixed time. */
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
    await pause(BETWEEN_MS);
  }
  throw new Error(`${what}: not within ${deadlineMs} ms`, { cause: lastError });
}
