import { type Redis } from 'ioredis';
import { LuaScript, type TimeScale } from '#platform';
import { type CallClass, ceiling, type CounterPolicy, type VendorPolicy } from './policy.js';
import { guardMs, type Window, windowAt } from './windows.js';

/** What the vendor's headers say of a counter. */
export interface Usage {
  readonly bucket: string;
  readonly window: string;
  readonly limit: number;
  readonly used: number;
}

export interface Gauge extends Usage {
  readonly remaining: number;
  readonly resetsAt: Date;
}

export interface Question {
  readonly id: string;
  readonly class: CallClass;
  readonly holdsSlot: boolean;
  /** What the counters must have been built for. */
  readonly state: string;
}

export type Answer =
  | { readonly verdict: 'granted'; readonly keys: readonly string[]; readonly nowMs: number }
  | { readonly verdict: 'refused'; readonly window: string; readonly retryAfterMs: number }
  /** Redis has forgotten what was spent. */
  | { readonly verdict: 'lost' };

/** The windows around one moment, one per counter of the policy. */
export interface Windows {
  readonly nowMs: number;
  readonly windows: readonly Window[];
  readonly keys: readonly string[];
  /** When they may be charged: not near a boundary, where the vendor's clock may have it otherwise. */
  readonly fromMs: number;
  readonly untilMs: number;
}

interface Prepared {
  readonly limits: string;
  readonly untilMs: number;
  readonly args: readonly number[];
}

const acquire = new LuaScript<[verdict: string, nowMs: number, instead: number | string]>(
  import.meta.url,
  './lua/acquire.lua',
);
const settle = new LuaScript<number>(import.meta.url, './lua/settle.lua');
const refund = new LuaScript<number>(import.meta.url, './lua/refund.lua');
const rebuild = new LuaScript<number>(import.meta.url, './lua/rebuild.lua');

// Longer than any one call may take: a slot that outlives its call belongs to a dead process.
const SLOT_MS = 30_000;
// A counter is kept a minute longer than its window, so that a late answer still finds it.
const KEPT_MS = 60_000;
// Another window and other limits cost a question each; more than that is no coincidence.
const MOST_QUESTIONS = 5;

/**
 * One vendor's counters in Redis, which judges by its own clock. The asker names the windows and limits it believes in and
 * is told when it is wrong, so that nothing has to be worked out where everybody waits.
 */
export class Counters {
  readonly guardMs: number;
  private readonly slotMs: number;
  private limits = '';
  /** Redis' clock minus ours. */
  private skewMs = 0;
  private believed: Windows | undefined;
  private readonly prepared = new Map<CallClass, Prepared>();

  constructor(
    private readonly policy: VendorPolicy,
    private readonly redis: Redis,
    private readonly scale: TimeScale,
  ) {
    this.guardMs = guardMs(scale.factor);
    this.slotMs = scale.guard(SLOT_MS);
  }

  async ask(question: Question): Promise<Answer> {
    for (let asked = 0; asked < MOST_QUESTIONS; asked += 1) {
      const windows = this.windowsNow();
      const [verdict, nowMs, instead] = await this.put(question, windows);
      this.skewMs = nowMs - Date.now();
      if (verdict === 'granted') return { verdict, keys: windows.keys, nowMs };
      if (verdict === 'lost') return { verdict };
      if (verdict === 'slot') return { verdict: 'refused', window: 'slot', retryAfterMs: Number(instead) };
      if (verdict === 'full') return this.refusal(windows, nowMs, String(instead));
      if (verdict === 'limits') this.limits = String(instead);
      const boundary = this.boundaryAt(nowMs);
      if (boundary) return boundary;
    }
    throw new Error(`the counters changed under ${MOST_QUESTIONS} questions`);
  }

  async settle(keys: readonly string[], usage: readonly Usage[]): Promise<void> {
    const told = this.policy.counters.map((counter) => usage.find((one) => isOf(one, counter)));
    this.limits = this.limitsNow()
      .map((limit, index) => told[index]?.limit ?? limit)
      .join(' ');
    await settle.run(
      this.redis,
      [this.limitsKey, ...keys],
      [this.limits, ...told.map((one) => one?.used ?? -1)],
    );
  }

  async release(id: string): Promise<void> {
    await this.redis.zrem(this.slotsKey, id);
  }

  async refund(id: string, state: string, keys: readonly string[]): Promise<void> {
    await refund.run(this.redis, [this.stateKey, this.slotsKey, ...keys], [state, id]);
  }

  async rebuild(state: string, nowMs: number, countOf: (counter: CounterPolicy) => number): Promise<void> {
    const { windows, keys } = this.windowsAt(nowMs);
    const args = this.policy.counters.flatMap((counter, index) => [
      countOf(counter),
      keptUntilMs(windows[index]),
    ]);
    await rebuild.run(this.redis, [this.stateKey, ...keys], [state, ...args]);
  }

  async gauges(): Promise<Gauge[]> {
    const { windows, keys } = this.windowsNow();
    const [learned, ...used] = await this.redis.mget([this.limitsKey, ...keys]);
    this.limits = learned ?? '';
    const limits = this.limitsNow();
    return this.policy.counters.map(({ bucket, window }, index) => {
      const spent = Number(used[index] ?? 0);
      const limit = limits[index] ?? 0;
      const resetsAt = new Date(windows[index]?.endsAtMs ?? 0);
      return { bucket, window, used: spent, limit, remaining: Math.max(0, limit - spent), resetsAt };
    });
  }

  /** What the counters of this server were last built for. */
  state(): Promise<string | null> {
    return this.redis.get(this.stateKey);
  }

  windowsAt(nowMs: number): Windows {
    const windows = this.policy.counters.map(({ seconds }) => windowAt(nowMs, seconds, this.scale.factor));
    return {
      nowMs,
      windows,
      keys: this.policy.counters.map(({ key }, index) => `${key}${windows[index]?.id}`),
      fromMs: Math.max(...windows.map(({ startsAtMs }) => startsAtMs)) + this.guardMs,
      // Granted before this, a permit is used within one guard more, and even then a guard away from the boundary.
      untilMs: Math.min(...windows.map(({ endsAtMs }) => endsAtMs)) - 2 * this.guardMs,
    };
  }

  /** Not now, if that moment is near a boundary. */
  boundaryAt(nowMs: number): { verdict: 'refused'; window: 'boundary'; retryAfterMs: number } | undefined {
    const { fromMs, untilMs } = this.windowsAt(nowMs);
    if (nowMs >= fromMs && nowMs < untilMs) return undefined;
    const goesOnAtMs = nowMs < fromMs ? fromMs : untilMs + 3 * this.guardMs;
    return { verdict: 'refused', window: 'boundary', retryAfterMs: Math.ceil(goesOnAtMs - nowMs) };
  }

  private put({ id, class: callClass, holdsSlot, state }: Question, windows: Windows) {
    const keys = [this.stateKey, this.limitsKey, this.slotsKey, ...windows.keys];
    const slots = holdsSlot ? this.policy.slots : 0;
    const asked = [state, this.limits, windows.fromMs, windows.untilMs, id, slots, this.slotMs];
    return acquire.run(this.redis, keys, [...asked, ...this.counterArgs(callClass, windows)]);
  }

  /** How far this class may fill each counter, and how long it is kept: the same until the windows or limits change. */
  private counterArgs(callClass: CallClass, windows: Windows): readonly number[] {
    const known = this.prepared.get(callClass);
    if (known?.limits === this.limits && known.untilMs === windows.untilMs) return known.args;
    const limits = this.limitsNow();
    const args = this.policy.counters.flatMap((counter, index) => {
      const window = windows.windows[index] as Window;
      return [
        this.ceilingOf(counter, limits[index] ?? 0, callClass, window, windows.nowMs),
        keptUntilMs(window),
      ];
    });
    this.prepared.set(callClass, { limits: this.limits, untilMs: windows.untilMs, args });
    return args;
  }

  private ceilingOf(
    counter: CounterPolicy,
    limit: number,
    callClass: CallClass,
    window: Window,
    nowMs: number,
  ): number {
    const leftSeconds = ((window.endsAtMs - nowMs) / 1_000) * this.scale.factor;
    // What live traffic has left of the window until now would be lost.
    return leftSeconds <= counter.releasedForLastSeconds ? limit : ceiling(limit, counter.reserve[callClass]);
  }

  private refusal({ windows }: Windows, nowMs: number, full: string): Answer {
    const indices = full
      .trim()
      .split(' ')
      .map((index) => Number(index) - 1);
    const ends = (index: number) => windows[index]?.endsAtMs ?? 0;
    const last = indices.reduce((longest, index) => (ends(index) > ends(longest) ? index : longest));
    const counter = this.policy.counters[last] as CounterPolicy;
    const retryAfterMs = Math.ceil(ends(last) - nowMs + this.guardMs);
    return { verdict: 'refused', window: `${counter.bucket} ${counter.window}`, retryAfterMs };
  }

  /** By the vendor's newest word that we know of, also while Redis is away. */
  limitsNow(): number[] {
    if (this.limits === '') return this.policy.counters.map(({ limit }) => limit);
    return this.limits.split(' ').map(Number);
  }

  /** The windows of the last question, as long as they last. */
  private windowsNow(): Windows {
    const nowMs = Date.now() + this.skewMs;
    const last = this.believed;
    if (last && nowMs >= last.fromMs && nowMs < last.untilMs) return last;
    this.believed = this.windowsAt(nowMs);
    return this.believed;
  }

  private get stateKey(): string {
    return `${this.policy.vendor}:rate:state`;
  }

  private get limitsKey(): string {
    return `${this.policy.vendor}:rate:limits`;
  }

  private get slotsKey(): string {
    return `${this.policy.vendor}:rate:slots`;
  }
}

const keptUntilMs = (window: Window | undefined) => Math.ceil((window?.endsAtMs ?? 0) + KEPT_MS);
const isOf = (usage: Usage, counter: CounterPolicy) =>
  usage.bucket === counter.bucket && usage.window === counter.window;
