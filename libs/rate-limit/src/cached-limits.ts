import { type TimeScale } from '#platform';
import { beginsWithRequest, type CallClass, type CounterPolicy, type VendorPolicy } from './policy.js';
import { ceilingAt, releasedAtMs } from './ceilings.js';
import {
  AGREED,
  areEqual,
  type ClockDifference,
  differenceText,
  parseDifference,
} from './clock-difference.js';
import {
  type OpenWindows,
  straddledAt,
  type StraddledWindows,
  type Window,
  type Windows,
  windowFrom,
  windowsAt,
} from './windows.js';

// So that the answer to a late call can still be settled.
const EXTRA_LIFETIME_MS = 60_000;
// The expiry argument of a counter whose window a request has begun: the charge of that request has set the expiry.
const IS_SET = 0;

export interface CachedWindows extends Windows {
  readonly keys: readonly string[];
  /** The Redis key's text after a charge that begins one of these windows, with `now` for the ms of the charge. Empty if none is new. */
  readonly begins: string;
}

/** A counter of a window beside the current one. */
export interface Neighbour {
  readonly key: string;
  /** Until when calls of this counter are charged to both sides. */
  readonly untilMs: number;
  readonly ceiling: number;
  readonly expiresAtMs: number;
}

/** How far one class may fill each counter under the cached windows and limits, valid until a reserve is released. */
export interface ClassCeilings {
  readonly limits: string;
  readonly windows: CachedWindows;
  readonly fromMs: number;
  readonly untilMs: number;
  readonly ceilings: readonly number[];
  /** Ceiling and expiry of each counter, as texts: ioredis would turn numbers into texts again for every charge. */
  readonly args: readonly string[];
}

/**
 * This process's cache of a vendor's Redis state: the offset of Redis' clock, the limits, the current windows and each class's
 * ceilings. The cache may be stale: acquire.lua rejects stale limits and windows, and the script's answer corrects the cache.
 *
 * One Redis key has the limits, and the windows that began with a request: `520 5100 1763542000000@1763542000003+6000? -`. So a charge is made
 * under the actual limits and windows or not at all. Windows aligned to the epoch follow from the clock and are not in the key. If the
 * vendor's clock differs from Redis', the difference follows: `200 2000 ~9000..10020`.
 */
export class CachedLimits {
  /** The Redis key's text. */
  text = '';
  /** The limits in `text`: numbers separated by blanks, in the order of the counters. */
  limits = '';
  /** The windows in `text`, by the position of their counters. A window in which no call was made is left out. */
  private open: ReadonlyArray<Window | undefined> = [];
  /** Redis' clock minus the vendor's, as in `text`. */
  difference = AGREED;
  /** Redis' clock minus `performance.now()`, which no correction of this process's clock moves. */
  private skewMs = performance.timeOrigin;
  /** When Redis last said its time, by `performance.now()`. */
  private clockReadAtMs = -Infinity;
  private windows: CachedWindows | undefined;
  private readonly ceilingsByClass = new Map<CallClass, ClassCeilings>();

  constructor(
    private readonly policy: VendorPolicy,
    private readonly scale: TimeScale,
  ) {}

  /** True if the vendor's clock differs: then every call near a boundary is charged to both sides, as the vendor may be on either. */
  get differs(): boolean {
    return !areEqual(this.difference, AGREED);
  }

  nowMs(): number {
    return Math.round(performance.now() + this.skewMs);
  }

  /** Redis read its clock between `askedAtMs` and now, by `performance.now()`; the middle halves the error of a slow answer. */
  setClock(nowMs: number, askedAtMs: number): void {
    this.clockReadAtMs = performance.now();
    this.skewMs = nowMs - Math.round((askedAtMs + this.clockReadAtMs) / 2);
  }

  /** For how long this process has not heard Redis' time. */
  get clockAgeMs(): number {
    return performance.now() - this.clockReadAtMs;
  }

  /** The limits of the newest vendor answer that this process knows, also while Redis is away. */
  limitsNow(): number[] {
    if (this.limits === '') return this.policy.counters.map(({ limit }) => limit);
    return this.limits.split(' ').map(Number);
  }

  /** Takes over the key's text. Returns true if its windows differ from the cached ones. */
  adopt(text: string): boolean {
    if (text === this.text) return false;
    const parts = text.split(' ');
    const count = this.policy.counters.length;
    const open = parseWindows(this.policy, parts.slice(count), this.scale.factor);
    const difference = parseDifference(parts.at(-1));
    const isSame = areEqual(difference, this.difference);
    this.difference = difference;
    const [known, current] = [this.open, open].map((windows) => textOf(this.policy, '', windows));
    this.text = text;
    this.limits = parts.slice(0, count).join(' ');
    if (known === current && isSame) return false;
    this.useWindows(open);
    return true;
  }

  /** Takes over the difference that the ledger has. */
  assume(difference: ClockDifference): void {
    if (areEqual(difference, this.difference)) return;
    this.difference = difference;
    this.useWindows(this.open);
  }

  get openWindows(): OpenWindows {
    return this.open;
  }

  /** Leaves out the windows without a call: the next call begins new ones. */
  forgetEmpty(used: readonly number[]): void {
    this.useWindows(this.open.map((window, index) => (used[index] === 0 ? undefined : window)));
  }

  private useWindows(open: OpenWindows): void {
    this.open = open;
    this.windows = undefined;
  }

  /** The cached windows while calls may still be charged to them. After that, computes and caches the current windows. */
  windowsNow(): CachedWindows {
    const nowMs = this.nowMs();
    const last = this.windows;
    if (last && nowMs >= last.fromMs && nowMs < last.untilMs) return last;
    const current = this.windowsAt(nowMs);
    // A new window begins at the moment of its first charge, so it is computed for each charge.
    this.windows = current.begins ? undefined : current;
    return current;
  }

  windowsAt(nowMs: number): CachedWindows {
    const { policy, scale, open, difference } = this;
    return this.withKeys(windowsAt(policy.counters, nowMs, scale.factor, open, difference));
  }

  /** The windows of a call that straddles boundaries. They are computed anew for each of these few calls. */
  straddledAt(nowMs: number): CachedWindows & StraddledWindows {
    const { policy, scale, open, difference } = this;
    return this.withKeys(straddledAt(policy.counters, nowMs, scale.factor, open, difference));
  }

  /** The counters of the neighbour windows. */
  neighboursOf(callClass: CallClass, { neighbours, untilsMs }: StraddledWindows): Neighbour[] {
    const [limits, nowMs] = [this.limitsNow(), this.nowMs()];
    return this.policy.counters.flatMap((counter, index) => {
      const window = neighbours[index];
      if (!window) return [];
      const ceiling = ceilingAt(counter, at(limits, index), callClass, window, nowMs, this.scale.factor);
      return [
        {
          key: `${counter.key}${window.id}`,
          untilMs: at(untilsMs, index),
          ceiling,
          expiresAtMs: expiresAtMs(window),
        },
      ];
    });
  }

  private withKeys<W extends Windows>(current: W): W & Pick<CachedWindows, 'keys' | 'begins'> {
    const keys = this.policy.counters.map(({ key }, index) => `${key}${at(current.windows, index).id}`);
    const begins = current.areNew.includes(true)
      ? textOf(this.policy, this.limits, current.windows, {
          areNew: current.areNew,
          difference: this.difference,
        })
      : '';
    return { ...current, keys, begins };
  }

  /** Cached until the windows or limits change, or until a reserve is released. */
  ceilingsOf(callClass: CallClass, windows: CachedWindows): ClassCeilings {
    const nowMs = this.nowMs();
    const known = this.ceilingsByClass.get(callClass);
    if (known?.windows === windows && known.limits === this.limits && nowMs < known.untilMs) return known;
    const { factor } = this.scale;
    const limits = this.limitsNow();
    const ceilings = this.policy.counters.map((counter, index) =>
      ceilingAt(counter, at(limits, index), callClass, at(windows.windows, index), nowMs, factor),
    );
    const releases = this.policy.counters.map((counter, index) =>
      releasedAtMs(counter, at(windows.windows, index), factor),
    );
    const expiries = this.policy.counters.map((counter, index) =>
      beginsWithRequest(counter) && !at(windows.areNew, index)
        ? IS_SET
        : expiresAtMs(at(windows.windows, index)),
    );
    const current: ClassCeilings = {
      limits: this.limits,
      windows,
      fromMs: nowMs,
      untilMs: Math.min(...releases.filter((releaseMs) => releaseMs > nowMs)),
      ceilings,
      args: ceilings.flatMap((ceiling, index) => [String(ceiling), String(at(expiries, index))]),
    };
    this.ceilingsByClass.set(callClass, current);
    return current;
  }
}

/** By Redis' clock. The vendor's window may end later than ours by half its length: until then, calls are charged to it as well. */
export function expiresAtMs({ startsAtMs, endsAtMs, lateMs = 0 }: Window): number {
  return Math.ceil(endsAtMs + (endsAtMs - startsAtMs) / 2 + lateMs + EXTRA_LIFETIME_MS);
}

/** The element of one counter, from an array with one element per counter of the policy. */
export function at<T>(perCounter: readonly T[], index: number): T {
  return perCounter[index] as T;
}

const NO_WINDOW = '-';
const BEGUN_WINDOW = /^(\d+)@(\d+)\+(\d+)(\??)$/;

interface TextOptions {
  readonly areNew?: readonly boolean[];
  readonly difference?: ClockDifference;
}

/** Writes the Redis key's text. Each window that began with a request is `id@start+late`, with a `?` until an answer has shown `late`. */
export function textOf(
  { counters }: VendorPolicy,
  limits: string,
  open: OpenWindows,
  { areNew = [], difference = AGREED }: TextOptions = {},
): string {
  const windows = counters.flatMap((counter, index) =>
    beginsWithRequest(counter) ? [windowText(open[index], areNew[index] ?? false)] : [],
  );
  const shown = differenceText(difference);
  return [limits, ...windows, ...(shown ? [shown] : [])].join(' ');
}

function windowText(window: Window | undefined, isNew: boolean): string {
  if (!window) return NO_WINDOW;
  return `${window.id}@${isNew ? 'now' : window.startsAtMs}+${window.lateMs ?? 0}${window.isAnswered ? '' : '?'}`;
}

function parseWindows({ counters }: VendorPolicy, texts: readonly string[], scale: number): OpenWindows {
  const left = [...texts];
  return counters.map((counter) =>
    beginsWithRequest(counter) ? parseWindow(left.shift() ?? NO_WINDOW, counter, counters, scale) : undefined,
  );
}

function parseWindow(
  text: string,
  counter: CounterPolicy,
  counters: readonly CounterPolicy[],
  scale: number,
): Window | undefined {
  const [, id, startsAtMs, lateMs, unanswered] = BEGUN_WINDOW.exec(text) ?? [];
  if (id === undefined) return undefined;
  return {
    ...windowFrom(Number(startsAtMs), counter, counters, scale),
    id: Number(id),
    lateMs: Number(lateMs),
    isAnswered: !unanswered,
  };
}
