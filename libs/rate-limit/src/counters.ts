import { type Redis } from 'ioredis';
import { LuaScript, type TimeScale } from '#platform';
import { type Refused } from './acquisition.js';
import { Gather } from './gather.js';
import { type CallClass, type CounterPolicy, type VendorPolicy } from './policy.js';
import { ceilingAt, opensAtMs, releasedAtMs } from './shares.js';
import { chargeableFromMs, guardMs, type Window, type Windows, windowsAt } from './windows.js';

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
  /** The vendor has answered 429: nothing is granted until then, whatever remains. */
  readonly closedUntil?: Date;
}

export interface Question {
  readonly id: string;
  readonly class: CallClass;
  readonly holdsSlot: boolean;
  /** What the counters must have been built for. */
  readonly state: string;
}

export type Answer =
  | { readonly kind: 'granted'; readonly keys: readonly string[]; readonly nowMs: number }
  | Refused
  /** Redis has forgotten what was spent. */
  | { readonly kind: 'lost' };

/** A counter that the vendor has closed with a 429, and until when. */
export interface Closure {
  readonly counter: number;
  readonly untilMs: number;
}

interface Believed extends Windows {
  readonly keys: readonly string[];
}

/** What a class may have of the windows and limits believed in, from one moment until a release. */
interface Share {
  readonly limits: string;
  readonly windows: Believed;
  readonly fromMs: number;
  readonly untilMs: number;
  readonly ceilings: readonly number[];
  readonly args: readonly number[];
}

type Reply = [
  granted: number,
  nowMs: number,
  why: '' | 'lost' | 'limits' | 'elsewhere' | 'closed' | 'full' | 'slot',
  instead: string | number[],
];

const acquire = new LuaScript<Reply>(import.meta.url, './lua/acquire.lua');
const settle = new LuaScript<number>(import.meta.url, './lua/settle.lua');
const close = new LuaScript<number>(import.meta.url, './lua/close.lua');
const refund = new LuaScript<number>(import.meta.url, './lua/refund.lua');
const rebuild = new LuaScript<number>(import.meta.url, './lua/rebuild.lua');

// Longer than any one call may take: a slot that outlives its call belongs to a dead process.
const SLOT_MS = 30_000;
// A slot is free when somebody's call is over, which is soon and cannot be foretold.
const SLOT_RETRY_MS = 200;
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
  private readonly questions: Gather<Question, Answer>;
  private limits = '';
  /** Redis' clock minus ours. */
  private skewMs = 0;
  private believed: Believed | undefined;
  private readonly shares = new Map<CallClass, Share>();
  private lastClosure: Closure = { counter: 0, untilMs: 0 };

  constructor(
    private readonly policy: VendorPolicy,
    private readonly redis: Redis,
    private readonly scale: TimeScale,
  ) {
    this.guardMs = guardMs(scale.factor);
    this.slotMs = scale.guard(SLOT_MS);
    this.questions = new Gather(areAlike, (questions) => this.put(questions));
  }

  ask(question: Question): Promise<Answer> {
    return this.questions.ask(question);
  }

  async settle(keys: readonly string[], usage: readonly Usage[]): Promise<void> {
    const told = this.toldOf(usage);
    this.limits = this.limitsNow()
      .map((limit, index) => told[index]?.limit ?? limit)
      .join(' ');
    await settle.run(
      this.redis,
      [this.limitsKey, ...keys],
      [this.limits, ...told.map((one) => one?.used ?? -1)],
    );
  }

  /**
   * What a 429 means for a call that was charged at `chargedAtMs`: the window that the headers show used up, that which
   * lasts longest; the shortest where they show none, or are missing.
   */
  closureBy(chargedAtMs: number, usage: readonly Usage[], retryAfterMs: number): Closure {
    const { windows } = windowsAt(this.policy.counters, chargedAtMs, this.scale.factor);
    const ends = windows.map(({ endsAtMs }) => endsAtMs);
    const usedUp = this.toldOf(usage).flatMap((told, index) =>
      told && told.used >= told.limit ? [index] : [],
    );
    const counter =
      usedUp.length > 0
        ? usedUp.reduce((last, index) => (at(ends, index) > at(ends, last) ? index : last))
        : ends.indexOf(Math.min(...ends));
    // Never longer than the longest window, whatever a broken vendor asks for.
    const longestMs = Math.max(...windows.map(({ startsAtMs, endsAtMs }) => endsAtMs - startsAtMs));
    const untilMs = Math.max(at(ends, counter), this.nowMs() + Math.min(retryAfterMs, longestMs));
    return { counter, untilMs: Math.ceil(untilMs) };
  }

  /** The 15-minute window of that moment, of which only a 429 is known. */
  shortestClosure(nowMs: number): Closure {
    return this.closureBy(nowMs, [], 0);
  }

  /** Nobody gets a permit until then. */
  async close(closure: Closure): Promise<void> {
    this.remember(closure);
    await close.run(this.redis, [this.closedKey], [closure.untilMs, closure.counter]);
  }

  /** What this process knows to be closed, also while Redis is away. */
  closedAt(nowMs: number): Closure | undefined {
    return nowMs < this.lastClosure.untilMs ? this.lastClosure : undefined;
  }

  refusedBy({ counter, untilMs }: Closure, nowMs = this.nowMs()): Refused {
    return this.refused(this.nameOf(counter), Math.max(0, untilMs - nowMs) + this.guardMs);
  }

  async release(id: string): Promise<void> {
    await this.redis.zrem(this.slotsKey, id);
  }

  async refund(id: string, state: string, keys: readonly string[]): Promise<void> {
    await refund.run(this.redis, [this.stateKey, this.slotsKey, ...keys], [state, id]);
  }

  async rebuild(state: string, nowMs: number, countOf: (counter: CounterPolicy) => number): Promise<void> {
    const { windows, keys } = this.believedAt(nowMs);
    const args = this.policy.counters.flatMap((counter, index) => [
      countOf(counter),
      keptUntilMs(at(windows, index)),
    ]);
    await rebuild.run(this.redis, [this.stateKey, ...keys], [state, ...args]);
  }

  async gauges(): Promise<Gauge[]> {
    const { windows, keys } = this.believedNow();
    const [learned, closed, ...used] = await this.redis.mget([this.limitsKey, this.closedKey, ...keys]);
    this.limits = learned ?? '';
    const limits = this.limitsNow();
    const closure = closed ? this.remember(closureIn(closed)) : undefined;
    return this.policy.counters.map(({ bucket, window }, index) => {
      const spent = Number(used[index] ?? 0);
      const limit = at(limits, index);
      const gauge: Gauge = {
        bucket,
        window,
        used: spent,
        limit,
        remaining: Math.max(0, limit - spent),
        resetsAt: new Date(at(windows, index).endsAtMs),
      };
      return closure?.counter === index ? { ...gauge, closedUntil: new Date(closure.untilMs) } : gauge;
    });
  }

  /** What the counters of this server were last built for. */
  state(): Promise<string | null> {
    return this.redis.get(this.stateKey);
  }

  /** Not now, if that moment is near a boundary. */
  boundaryAt(nowMs: number): Refused | undefined {
    const goesOnAtMs = chargeableFromMs(this.policy.counters, nowMs, this.scale.factor);
    return goesOnAtMs > nowMs ? this.refused('boundary', goesOnAtMs - nowMs) : undefined;
  }

  /** Questions that are alike are one to Redis: how many of you may? */
  private async put(questions: readonly Question[]): Promise<Answer[]> {
    const { class: callClass, state, holdsSlot } = at(questions, 0);
    const ids = holdsSlot ? questions.map(({ id }) => id) : [];
    for (let asked = 0; asked < MOST_QUESTIONS; asked += 1) {
      const windows = this.believedNow();
      const share = this.shareOf(callClass, windows);
      const believed = [state, this.limits, windows.fromMs, windows.untilMs];
      const [granted, nowMs, ...why] = await acquire.run(
        this.redis,
        [this.stateKey, this.limitsKey, this.closedKey, this.slotsKey, ...windows.keys],
        [...believed, questions.length, this.policy.slots, this.slotMs, ...share.args, ...ids],
      );
      this.skewMs = nowMs - Date.now();
      const grant: Answer = { kind: 'granted', keys: windows.keys, nowMs };
      if (granted === questions.length) return questions.map(() => grant);
      const otherwise = this.refusalFor(why, share, nowMs);
      if (otherwise) return questions.map((_, index) => (index < granted ? grant : otherwise));
    }
    throw new Error(`the counters changed under ${MOST_QUESTIONS} questions`);
  }

  /** Why not; nothing where only a belief was wrong, and is right now. */
  private refusalFor(
    [why, instead]: [Reply[2], Reply[3]],
    share: Share,
    nowMs: number,
  ): Exclude<Answer, { kind: 'granted' }> | undefined {
    switch (why) {
      case 'lost':
        return { kind: 'lost' };
      case 'slot':
        return this.refused('slot', SLOT_RETRY_MS);
      case 'closed':
        return this.refusedBy(this.remember(closureIn(instead as string)), nowMs);
      case 'full':
        return this.fullRefusal(share, instead as number[], nowMs);
      case 'limits':
        this.limits = instead as string;
        return this.boundaryAt(nowMs);
      case 'elsewhere':
      case '':
        return this.boundaryAt(nowMs);
    }
  }

  /** By the counter that stays full the longest. */
  private fullRefusal({ ceilings, windows, fromMs }: Share, used: readonly number[], nowMs: number): Refused {
    const limits = this.limitsNow();
    const opens = this.policy.counters.map((counter, index) => {
      const [spent, limit, window] = [at(used, index), at(limits, index), at(windows.windows, index)];
      if (spent < at(ceilings, index)) return 0;
      return opensAtMs(counter, spent, limit, window, fromMs, this.scale.factor);
    });
    const last = Math.max(...opens);
    return this.refused(this.nameOf(opens.indexOf(last)), last - nowMs + this.guardMs);
  }

  private refused(window: string, retryAfterMs: number): Refused {
    return { kind: 'refused', window, retryAfterMs: Math.ceil(retryAfterMs) };
  }

  /** The same until the windows or limits change, or a release begins. */
  private shareOf(callClass: CallClass, windows: Believed): Share {
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

  /** By the vendor's newest word that we know of, also while Redis is away. */
  limitsNow(): number[] {
    if (this.limits === '') return this.policy.counters.map(({ limit }) => limit);
    return this.limits.split(' ').map(Number);
  }

  nameOf(counter: number): string {
    const { bucket, window } = at(this.policy.counters, counter);
    return `${bucket} ${window}`;
  }

  private toldOf(usage: readonly Usage[]): Array<Usage | undefined> {
    return this.policy.counters.map((counter) => usage.find((one) => isOf(one, counter)));
  }

  private remember(closure: Closure): Closure {
    if (closure.untilMs > this.lastClosure.untilMs) this.lastClosure = closure;
    return closure;
  }

  private nowMs(): number {
    return Date.now() + this.skewMs;
  }

  /** The windows of the last question, as long as they last. */
  private believedNow(): Believed {
    const nowMs = this.nowMs();
    const last = this.believed;
    if (last && nowMs >= last.fromMs && nowMs < last.untilMs) return last;
    this.believed = this.believedAt(nowMs);
    return this.believed;
  }

  private believedAt(nowMs: number): Believed {
    const windows = windowsAt(this.policy.counters, nowMs, this.scale.factor);
    const keys = this.policy.counters.map(({ key }, index) => `${key}${at(windows.windows, index).id}`);
    return { ...windows, keys };
  }

  private get stateKey(): string {
    return `${this.policy.vendor}:rate:state`;
  }

  private get limitsKey(): string {
    return `${this.policy.vendor}:rate:limits`;
  }

  private get closedKey(): string {
    return `${this.policy.vendor}:rate:closed`;
  }

  private get slotsKey(): string {
    return `${this.policy.vendor}:rate:slots`;
  }
}

/** One element per counter, everywhere. */
function at<T>(perCounter: readonly T[], index: number): T {
  return perCounter[index] as T;
}

/** As `close.lua` writes it. */
function closureIn(text: string): Closure {
  const [untilMs, counter] = text.split(' ').map(Number);
  return { counter: counter ?? 0, untilMs: untilMs ?? 0 };
}

const areAlike = (one: Question, other: Question) =>
  one.class === other.class && one.holdsSlot === other.holdsSlot && one.state === other.state;
const keptUntilMs = (window: Window) => Math.ceil(window.endsAtMs + KEPT_MS);
const isOf = (usage: Usage, counter: CounterPolicy) =>
  usage.bucket === counter.bucket && usage.window === counter.window;
