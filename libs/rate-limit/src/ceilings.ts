import { type CallClass, type CounterPolicy, type Reserve } from './policy.js';
import { type Window } from './windows.js';

/** The count of a window, over all classes, at which a class with this reserve gets no more permits. */
export function ceiling(limit: number, { percent, atMost, countsThisCall }: Reserve): number {
  return limit - Math.min(atMost, Math.ceil((limit * percent) / 100)) + (countsThisCall ? 1 : 0);
}

/** When the reserve is released. Without a release, calls that live traffic did not use would be lost at the window's end. */
export function releasedAtMs(counter: CounterPolicy, window: Window, scale: number): number {
  return window.endsAtMs - (counter.releasedForLastSeconds * 1_000) / scale;
}

/** How far a class may fill a counter at `nowMs`. */
export function ceilingAt(
  counter: CounterPolicy,
  limit: number,
  callClass: CallClass,
  window: Window,
  nowMs: number,
  scale: number,
): number {
  if (nowMs >= releasedAtMs(counter, window, scale)) return limit;
  return ceiling(limit, counter.reserve[callClass]);
}

/** When a class at its ceiling may go on: at the release of the reserve if calls are left for it. Otherwise at the window's end. */
export function opensAtMs(
  counter: CounterPolicy,
  used: number,
  limit: number,
  window: Window,
  nowMs: number,
  scale: number,
): number {
  const releaseMs = releasedAtMs(counter, window, scale);
  return used < limit && nowMs < releaseMs ? releaseMs : window.endsAtMs;
}
