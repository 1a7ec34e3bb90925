import { setTimeout as pause } from 'node:timers/promises';
import { type Acquisition } from './acquisition.js';

export interface Patience {
  /** Real time: it is the caller who waits. */
  readonly waitMs: number;
  readonly signal?: AbortSignal;
}

/** Asks again while the answer is one that passes soon. A window that is full or closed is never waited for in place. */
export async function patiently(
  ask: () => Promise<Acquisition>,
  { waitMs, signal }: Patience,
): Promise<Acquisition> {
  const untilMs = performance.now() + waitMs;
  for (;;) {
    signal?.throwIfAborted();
    const answer = await ask();
    const pauseMs = pauseAfter(answer);
    if (pauseMs === undefined || performance.now() + pauseMs > untilMs) return answer;
    await pause(pauseMs, undefined, { signal });
  }
}

function pauseAfter(answer: Acquisition): number | undefined {
  if (answer.kind !== 'refused') return undefined;
  if (answer.window === 'boundary') return answer.retryAfterMs;
  // Those who wait for a slot must not all come at once.
  if (answer.window === 'slot') return answer.retryAfterMs * (0.5 + Math.random());
  return undefined;
}
