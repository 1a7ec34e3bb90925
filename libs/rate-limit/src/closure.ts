import { type CounterPolicy, nameOf } from './policy.js';
import { type Usage, usageOf } from './usage.js';
import { windowAt } from './windows.js';

/** A counter that the vendor has closed with a 429, by its name, and until when. */
export interface Closure {
  readonly window: string;
  readonly untilMs: number;
}

/**
 * What a 429 means for a call that was charged at `chargedAtMs`: the window that the headers show used up, that which lasts
 * longest; the shortest where they show none, or are missing. A `Retry-After` counts where it is longer.
 */
export function closureBy(
  counters: readonly CounterPolicy[],
  { chargedAtMs, nowMs, usage, retryAfterMs }: RateLimited,
  scale: number,
): Closure {
  const windows = counters.map((counter) => {
    const told = usageOf(counter, usage);
    const isUsedUp = told !== undefined && told.used >= told.limit;
    return { name: nameOf(counter), isUsedUp, ...windowAt(chargedAtMs, counter.seconds, scale) };
  });
  const usedUp = windows.filter(({ isUsedUp }) => isUsedUp);
  const closed =
    usedUp.length > 0
      ? usedUp.reduce((last, one) => (one.endsAtMs > last.endsAtMs ? one : last))
      : windows.reduce((first, one) => (one.endsAtMs < first.endsAtMs ? one : first));
  // Never longer than the longest window, whatever a broken vendor asks for.
  const longestMs = Math.max(...windows.map(({ startsAtMs, endsAtMs }) => endsAtMs - startsAtMs));
  const untilMs = Math.max(closed.endsAtMs, nowMs + Math.min(retryAfterMs, longestMs));
  return { window: closed.name, untilMs: Math.ceil(untilMs) };
}

interface RateLimited {
  readonly chargedAtMs: number;
  readonly nowMs: number;
  readonly usage: readonly Usage[];
  readonly retryAfterMs: number;
}

export function longerOf(one: Closure | undefined, other: Closure | undefined): Closure | undefined {
  if (!one || !other) return one ?? other;
  return other.untilMs > one.untilMs ? other : one;
}

/** As `close.lua` writes it. */
export function closureIn(text: string): Closure {
  const [untilMs, ...window] = text.split(' ');
  return { window: window.join(' '), untilMs: Number(untilMs) };
}
