import { beginsWithRequest, type CounterPolicy } from './policy.js';
import { type Usage, usageOf } from './rate-headers.js';
import { type Window } from './windows.js';

// Vendors report the seconds until a reset as a whole number, rounded up or down.
const RESOLUTION_MS = 1_000;

interface Answered {
  /** The windows that the call was charged to, one per counter, as earlier answers have corrected them. */
  readonly windows: readonly Window[];
  /** When the call was charged, by Redis' clock. The vendor computed its report between then and `answeredAtMs`. */
  readonly nowMs: number;
  /** By this process's estimate of Redis' clock, which lags behind by the time that Redis' last reply took. */
  readonly answeredAtMs: number;
  readonly usage: readonly Usage[];
  /** The tolerated difference of the clocks: the least that a window is late, and the most that `answeredAtMs` lags behind. */
  readonly guardMs: number;
}

/**
 * The windows of a call, corrected by its answer. The vendor's window began before its first answer with counts, so this answer shows how late
 * it can have begun. If an answer reports an end that our window cannot have, our window gets that end: the request that began our window
 * never arrived, or another program uses the same app.
 */
export function realigned(
  counters: readonly CounterPolicy[],
  { windows, nowMs, answeredAtMs, usage, guardMs }: Answered,
): readonly Window[] {
  return windows.map((window, index) => {
    const counter = counters[index];
    const told = counter && beginsWithRequest(counter) ? usageOf(counter, usage) : undefined;
    if (!told) return window;
    const { startsAtMs, endsAtMs, lateMs = 0, isAnswered } = window;
    const answered = {
      ...window,
      lateMs: Math.ceil(Math.max(0, answeredAtMs - startsAtMs) + guardMs),
      isAnswered: true,
    };
    const ours = isAnswered ? window : answered;
    const { resetsInSeconds } = told;
    const lengthMs = endsAtMs - startsAtMs;
    // A reset beyond the window's length is not the end of this window.
    if (resetsInSeconds === undefined || resetsInSeconds * 1_000 > lengthMs + RESOLUTION_MS) return ours;
    const earliestMs = Math.floor(nowMs + resetsInSeconds * 1_000 - RESOLUTION_MS);
    const latestMs = Math.ceil(answeredAtMs + guardMs + resetsInSeconds * 1_000 + RESOLUTION_MS);
    if (earliestMs <= endsAtMs + lateMs && latestMs >= endsAtMs) return ours;
    // The end of an answered window is known, so the call took so long that the vendor counted it in its next window. The first answer of our
    // next window corrects that one.
    if (isAnswered && latestMs - lengthMs >= endsAtMs) return window;
    const begunAtMs = Math.floor(earliestMs - lengthMs);
    const endMs = begunAtMs + lengthMs;
    return {
      ...answered,
      startsAtMs: begunAtMs,
      endsAtMs: endMs,
      lateMs: Math.ceil(Math.max(0, latestMs - endMs)),
    };
  });
}
