import { type CounterPolicy, nameOf } from './policy.js';
import { type Usage, usageOf } from './rate-headers.js';
import { type Window } from './windows.js';

/** The vendor answered 429: no permit is given until `untilMs`. `window` is the counter's name. */
export interface ClosedWindow {
  readonly window: string;
  readonly untilMs: number;
}

/**
 * The window that a 429 closes, for a call charged to `windows`. If the headers report windows as used up, the result is the
 * used-up window that ends last. Otherwise the result is the window that ends first. A `Retry-After` beyond the window's end keeps
 * the window closed for longer.
 */
export function closedBy429(
  counters: readonly CounterPolicy[],
  { windows: charged, nowMs, usage, retryAfterMs }: RateLimited,
): ClosedWindow {
  const windows = counters.map((counter, index) => {
    const reported = usageOf(counter, usage);
    const isUsedUp = reported !== undefined && reported.used >= reported.limit;
    return { name: nameOf(counter), window: counter.window, isUsedUp, ...(charged[index] as Window) };
  });
  const usedUp = windows.filter(({ isUsedUp }) => isUsedUp);
  const closed =
    usedUp.length > 0
      ? usedUp.reduce((last, one) => (one.endsAtMs > last.endsAtMs ? one : last))
      : windows.reduce((first, one) => (one.endsAtMs < first.endsAtMs ? one : first));
  // A wrong Retry-After must not stop calls for longer than the vendor's longest window, nor beyond the end of the vendor's day.
  const longestMs = Math.max(...windows.map(({ startsAtMs, endsAtMs }) => endsAtMs - startsAtMs));
  const dayEndsAtMs = windows.find(({ window }) => window === 'day')?.endsAtMs ?? Infinity;
  const askedMs = Math.min(nowMs + Math.min(retryAfterMs, longestMs), dayEndsAtMs);
  const untilMs = Math.max(closed.endsAtMs, askedMs);
  return { window: closed.name, untilMs: Math.ceil(untilMs) };
}

// A process knows Redis' clock to within the time of an answer, and a window that began with a request may end up to six seconds later.
const INEXACT_MS = 10_000;

/** The most ms for which `closedBy429` closes a window: the length of the longest one. */
export function longestClosedMs(counters: readonly CounterPolicy[], scale: number): number {
  return Math.ceil(Math.max(...counters.map(({ seconds }) => seconds * 1_000)) / scale) + INEXACT_MS;
}

interface RateLimited {
  /** One window per counter. */
  readonly windows: readonly Window[];
  readonly nowMs: number;
  readonly usage: readonly Usage[];
  readonly retryAfterMs: number;
}

/** Returns the window that is closed for longer. */
export function laterClosed(
  one: ClosedWindow | undefined,
  other: ClosedWindow | undefined,
): ClosedWindow | undefined {
  if (!one || !other) return one ?? other;
  return other.untilMs > one.untilMs ? other : one;
}

/** Parses the value that `close.lua` writes: `<untilMs> <counter name>`. */
export function parseClosedWindow(text: string): ClosedWindow {
  const [untilMs, ...window] = text.split(' ');
  return { window: window.join(' '), untilMs: Number(untilMs) };
}
