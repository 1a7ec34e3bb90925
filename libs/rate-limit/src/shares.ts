import { type CallClass, ceiling, type CounterPolicy } from './policy.js';
import { type Window } from './windows.js';

/** From then on the reserve is given up: what live traffic has left of the window until now would be lost. */
export function releasedAtMs(counter: CounterPolicy, window: Window, scale: number): number {
  return window.endsAtMs - (counter.releasedForLastSeconds * 1_000) / scale;
}

/** How far a class may fill a counter at that moment. */
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

/** When a counter takes more of a class that has filled it: at its release, if that has anything to give, or at its end. */
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
