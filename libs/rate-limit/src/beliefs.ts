import { type TimeScale } from '#platform';
import { type CallClass, type VendorPolicy } from './policy.js';
import { ceilingAt, releasedAtMs } from './shares.js';
import { type Window, type Windows, windowsAt } from './windows.js';

// A counter is kept a minute longer than its window, so that a late answer still finds it.
const KEPT_MS = 60_000;

export interface Believed extends Windows {
  readonly keys: readonly string[];
}

/** What a class may have of the windows and limits believed in, from one moment until a release. */
export interface Share {
  readonly limits: string;
  readonly windows: Believed;
  readonly fromMs: number;
  readonly untilMs: number;
  readonly ceilings: readonly number[];
  readonly args: readonly number[];
}

/**
 * What an asker takes for true of a vendor's counters until Redis says otherwise: its clock, the limits, the windows, and
 * what each class may have of them.
 */
export class Beliefs {
  /** As they stand in Redis. */
  limits = '';
  /** Redis' clock minus ours. */
  private skewMs = 0;
  private windows: Believed | undefined;
  private readonly shares = new Map<CallClass, Share>();

  constructor(
    private readonly policy: VendorPolicy,
    private readonly scale: TimeScale,
  ) {}

  nowMs(): number {
    return Date.now() + this.skewMs;
  }

  setClock(nowMs: number): void {
    this.skewMs = nowMs - Date.now();
  }

  /** By the vendor's newest word that we know of, also while Redis is away. */
  limitsNow(): number[] {
    if (this.limits === '') return this.policy.counters.map(({ limit }) => limit);
    return this.limits.split(' ').map(Number);
  }

  /** Those of the last question, as long as they last. */
  windowsNow(): Believed {
    const nowMs = this.nowMs();
    const last = this.windows;
    if (last && nowMs >= last.fromMs && nowMs < last.untilMs) return last;
    this.windows = this.windowsAt(nowMs);
    return this.windows;
  }

  windowsAt(nowMs: number): Believed {
    const windows = windowsAt(this.policy.counters, nowMs, this.scale.factor);
    const keys = this.policy.counters.map(({ key }, index) => `${key}${at(windows.windows, index).id}`);
    return { ...windows, keys };
  }

  /** The same until the windows or limits change, or a release begins. */
  shareOf(callClass: CallClass, windows: Believed): Share {
    const nowMs = this.nowMs();
    const known = this.shares.get(callClass);
    if (known?.windows === windows && known.limits === this.limits && nowMs < known.untilMs) return known;
    const { factor } = this.scale;
    const limits = this.limitsNow();
    const ceilings = this.policy.counters.map((counter, index) =>
      ceilingAt(counter, at(limits, index), callClass, at(windows.windows, index), nowMs, factor),
    );
    const releases = this.policy.counters.map((counter, index) =>
      releasedAtMs(counter, at(windows.windows, index), factor),
    );
    const share: Share = {
      limits: this.limits,
      windows,
      fromMs: nowMs,
      untilMs: Math.min(...releases.filter((releaseMs) => releaseMs > nowMs)),
      ceilings,
      args: ceilings.flatMap((most, index) => [most, keptUntilMs(at(windows.windows, index))]),
    };
    this.shares.set(callClass, share);
    return share;
  }
}

export const keptUntilMs = (window: Window) => Math.ceil(window.endsAtMs + KEPT_MS);

/** One element per counter, everywhere. */
export function at<T>(perCounter: readonly T[], index: number): T {
  return perCounter[index] as T;
}
