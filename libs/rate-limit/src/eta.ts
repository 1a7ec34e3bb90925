import { type Gauge } from './counters.js';
import { type CallClass, type CounterPolicy, type VendorPolicy } from './policy.js';
import { type SharePace, sharePace } from './vendor-share.js';
import { ceilingAt, opensAtMs } from './ceilings.js';
import {
  chargeableFromMs,
  guardMs,
  type OpenWindows,
  type Window,
  windowFrom,
  windowsAt,
} from './windows.js';

interface Outlook {
  readonly policy: VendorPolicy;
  /** One gauge per counter of `policy`, in the same order. */
  readonly gauges: readonly Gauge[];
  readonly class: CallClass;
  /** `TIME_SCALE` */
  readonly scale: number;
}

interface Counter {
  readonly policy: CounterPolicy;
  readonly limit: number;
  used: number;
  /** The end of the window that `used` counts. */
  endsAtMs: number;
}

// An estimate beyond ten years is reported as none.
const FURTHEST_DAYS = 10 * 365;
const DAY_MS = 86_400_000;
// Calls of a share leave the same reserve as backfill calls.
const SHARE_CLASS: CallClass = 'backfill';

/** When the last of `calls` can be made; `calls` includes the calls of other athletes that go first. */
export function eta(calls: number, now: Date, outlook: Outlook): Date | undefined {
  return etas([calls], now, outlook)[0];
}

/**
 * Returns for each number in `targets` (ascending) when that many calls will have been made. Each call is assumed to be made as
 * soon as the budget allows. A result is undefined if the limits never allow that many calls, or allow them only after ten years.
 *
 * Simulates one worker that makes all calls of a window, then waits for the next window. One step is a window; once a day is used
 * up, one step is a day. Assumes that every purpose with a share of the day uses its share first. Does not foresee live calls.
 */
export function etas(targets: readonly number[], now: Date, outlook: Outlook): Array<Date | undefined> {
  const { class: callClass, gauges, policy, scale } = outlook;
  const found = targets.flatMap((calls) => (calls <= 0 ? [now] : []));
  const counters = gauges.map((gauge, index) => counterOf(gauge, policy.counters[index]));
  const furthestMs = now.getTime() + (FURTHEST_DAYS * DAY_MS) / scale;
  let made = 0;
  const longestMs = Math.max(...policy.counters.map(({ seconds }) => (seconds * 1_000) / scale));
  let nowMs = Math.max(now.getTime(), ...gauges.map(({ closedUntil }) => closedUntil?.getTime() ?? 0));
  let lastCallMs = nowMs;
  const shares = sharesOf(outlook, nowMs);
  const guard = guardMs(scale, policy.counters);
  // If one whole window of the longest kind allows no call, later windows allow no call either.
  while (found.length < targets.length && nowMs < furthestMs && nowMs - lastCallMs <= 2 * longestMs) {
    const open = openWindows(counters, scale);
    nowMs = chargeableFromMs(nowMs, windowsAt(policy.counters, nowMs, scale, open), guard);
    const { windows } = windowsAt(policy.counters, nowMs, scale, open);
    counters.forEach((counter, index) => enter(counter, windows[index] as Window));
    const remainingFor = (one: CallClass) =>
      counters.map(
        ({ policy: counter, limit, used }, index) =>
          ceilingAt(counter, limit, one, windows[index] as Window, nowMs, scale) - used,
      );
    for (const share of shares) {
      // A share takes at most half of the remaining calls, so that in a small window the estimated calls advance too.
      const taken = share.take(nowMs, Math.max(0, Math.floor(Math.min(...remainingFor(SHARE_CLASS)) / 2)));
      for (const counter of counters) counter.used += taken;
    }
    const remaining = remainingFor(callClass);
    const calls = Math.max(0, Math.min(...remaining));
    while (found.length < targets.length && made + calls >= (targets[found.length] ?? 0))
      found.push(new Date(Math.ceil(nowMs)));
    if (calls > 0) lastCallMs = nowMs;
    made += calls;
    for (const counter of counters) counter.used += calls;
    const opens = counters.flatMap((counter, index) => {
      const isFull = (remaining[index] ?? 0) <= calls;
      if (!isFull) return [];
      return [opensAtMs(counter.policy, counter.used, counter.limit, windows[index] as Window, nowMs, scale)];
    });
    nowMs = Math.max(...opens) + guard;
  }
  return [...found, ...Array<undefined>(targets.length - found.length)];
}

/** How many calls a class may still make before the next boundary, and how many ms are left for these calls. */
export function windowLeft(now: Date, outlook: Outlook): { readonly calls: number; readonly ms: number } {
  const { policy, gauges, scale } = outlook;
  const nowMs = now.getTime();
  const counters = gauges.map((gauge, index) => counterOf(gauge, policy.counters[index]));
  const { windows, untilMs } = windowsAt(policy.counters, nowMs, scale, openWindows(counters, scale));
  const remaining = policy.counters.map((counter, index) => {
    const { used = 0, limit = 0 } = gauges[index] ?? {};
    return ceilingAt(counter, limit, outlook.class, windows[index] as Window, nowMs, scale) - used;
  });
  return { calls: Math.max(0, Math.min(...remaining)), ms: Math.max(0, untilMs - nowMs) };
}

function sharesOf({ policy, gauges, scale }: Outlook, nowMs: number): Share[] {
  return Object.values(policy.shares ?? {}).flatMap((share) => {
    const pace = sharePace(share, gauges, scale);
    return pace ? [new Share(pace, nowMs)] : [];
  });
}

/** Simulates the calls of one share of the day: one per gap, up to a burst after a pause. */
class Share {
  private saved = 0;

  constructor(
    private readonly pace: SharePace,
    private atMs: number,
  ) {}

  take(nowMs: number, most: number): number {
    const { gapMs, burst } = this.pace;
    this.saved = Math.min(burst, this.saved + (nowMs - this.atMs) / gapMs);
    this.atMs = nowMs;
    const taken = Math.min(most, Math.floor(this.saved));
    this.saved -= taken;
    return taken;
  }
}

function counterOf({ used, limit, resetsAt }: Gauge, policy: CounterPolicy | undefined): Counter {
  if (!policy) throw new Error('there are more gauges than the policy has counters');
  return { policy, limit, used, endsAtMs: resetsAt.getTime() };
}

/** The windows that the counters count. Only those that began with a request matter: the others follow from the clock. */
function openWindows(counters: readonly Counter[], scale: number): OpenWindows {
  const policies = counters.map(({ policy }) => policy);
  return counters.map(({ policy, endsAtMs }) =>
    windowFrom(endsAtMs - (policy.seconds * 1_000) / scale, policy, policies, scale),
  );
}

/** Sets the counter to 0 when a new window begins. */
function enter(counter: Counter, { endsAtMs }: Window): void {
  // A gauge's `resetsAt` is a Date, in whole milliseconds; the end of a scaled window may be a fraction.
  if (Math.abs(endsAtMs - counter.endsAtMs) < 1) return;
  counter.endsAtMs = endsAtMs;
  counter.used = 0;
}
