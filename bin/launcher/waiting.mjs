import { setTimeout as pause } from 'node:timers/promises';

/** Asks again and again until the answer is truthy; null when the time is over. */
export async function until(ask, { withinMs, everyMs = 25 }) {
  const deadline = Date.now() + withinMs;
  for (;;) {
    const answer = await ask();
    if (answer) return answer;
    if (Date.now() >= deadline) return null;
    await pause(everyMs);
  }
}
