import { type Gauge } from './counters.js';
import { type CallClass, type CounterPolicy, type VendorPolicy } from './policy.js';
import { ceilingAt, opensAtMs } from './shares.js';
import { chargeableFromMs, guardMs, type Window, windowsAt } from './windows.js';

export interface Outlook {
  readonly policy: VendorPolicy;
  /** Of that policy's counters, in their order. */
  readonly gauges: readonly Gauge[];
  readonly class: CallClass;
  /** `TIME_SCALE`. */
  readonly scale: number;
}

interface Counter {
  readonly policy: CounterPolicy;
  readonly limit: number;
  used: number;
  /** The window that `used` is about. */
  endsAtMs: number;
}

// Nobody plans further ahead.
const FURTHEST_DAYS = 10 * 365;
const DAY_MS = 86_400_000;

/** When the last of that many calls can be made; `calls` is one's own and all that go before them. */
export function eta(calls: number, now: Date, outlook: Outlook): Date | undefined {
  return etas([calls], now, outlook)[0];
}

/**
 * When so many calls will have been made, if from now on each is made as soon as it may; for each of some numbers, that rise.
 * Nothing where the limits never allow it, or only in many years.
 *
 * It asks as a worker would: takes what there is, and comes back when it is told to. That is at most once per window, and
 * where a day is used up once per day.
 */
export function etas(targets: readonly number[], now: Date, outlook: Outlook): Array<Date | undefined> {
  const { class: callClass, gauges, policy, scale } = outlook;
  const found = targets.flatMap((calls) => (calls <= 0 ? [now] : []));
  const counters = gauges.map((gauge, index) => counterOf(gauge, policy.counters[index]));
  const furthestMs = now.getTime() + (FURTHEST_DAYS * DAY_MS) / scale;
  let made = 0;
  const longestMs = Math.max(...policy.counters.map(({ seconds }) => (seconds * 1_000) / scale));
  let nowMs = Math.max(now.getTime(), ...gauges.map(({ closedUntil }) => closedUntil?.getTime() ?? 0));
  let hadRoomMs = nowMs;
  // Where a whole day goes by without a call, every day will.
  while (found.length < targets.length && nowMs < furthestMs && nowMs - hadRoomMs <= 2 * longestMs) {
    nowMs = chargeableFromMs(policy.counters, nowMs, scale);
    const { windows } = windowsAt(policy.counters, nowMs, scale);
    const rooms = counters.map((counter, index) => {
      const window = windows[index] as Window;
      enter(counter, window);
      return ceilingAt(counter.policy, counter.limit, callClass, window, nowMs, scale) - counter.used;
    });
    const room = Math.max(0, Math.min(...rooms));
    while (found.length < targets.length && made + room >= (targets[found.length] ?? 0))
      found.push(new Date(Math.ceil(nowMs)));
    if (room > 0) hadRoomMs = nowMs;
    made += room;
    for (const counter of counters) counter.used += room;
    const opens = counters.flatMap((counter, index) => {
      const isFull = (rooms[index] ?? 0) <= room;
      if (!isFull) return [];
      return [opensAtMs(counter.policy, counter.used, counter.limit, windows[index] as Window, nowMs, scale)];
    });
    nowMs = Math.max(...opens) + guardMs(scale, policy.counters);
  }
  return [...found, ...Array<undefined>(targets.length - found.length)];
}

function counterOf({ used, limit, resetsAt }: Gauge, policy: CounterPolicy | undefined): Counter {
  if (!policy) throw new Error('there are more gauges than the policy has counters');
  return { policy, limit, used, endsAtMs: resetsAt.getTime() };
}

/** A counter begins every window at nought. */
function enter(counter: Counter, { endsAtMs }: Window): void {
  // A gauge's moment is a Date, in whole milliseconds; a scaled window may end in between.
  if (Math.abs(endsAtMs - counter.endsAtMs) < 1) return;
  counter.endsAtMs = endsAtMs;
  counter.used = 0;
}
