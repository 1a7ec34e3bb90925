import { type Redis } from 'ioredis';
import { Gather, LuaScript, type TimeScale } from '#platform';
import { type Refused } from './acquisition.js';
import { at, Beliefs, keptUntilMs, type Share } from './beliefs.js';
import { type Closure, closureBy, closureIn, longerOf } from './closure.js';
import { type CallClass, type CounterPolicy, nameOf, type VendorPolicy } from './policy.js';
import { opensAtMs } from './shares.js';
import { type Usage, usageOf } from './usage.js';
import { chargeableFromMs, guardMs } from './windows.js';

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
// However the time is scaled: a call takes eight seconds at most.
const SHORTEST_SLOT_MS = 10_000;
// A slot is free when somebody's call is over, which is soon and cannot be foretold.
const SLOT_RETRY_MS = 200;
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
  private readonly beliefs: Beliefs;
  private lastClosure: Closure | undefined;

  constructor(
    private readonly policy: VendorPolicy,
    private readonly redis: Redis,
    private readonly scale: TimeScale,
  ) {
    this.guardMs = guardMs(scale.factor, policy.counters);
    this.slotMs = Math.max(SHORTEST_SLOT_MS, scale.guard(SLOT_MS));
    this.beliefs = new Beliefs(policy, scale);
    this.questions = new Gather((questions) => this.put(questions), { areAlike });
  }

  ask(question: Question): Promise<Answer> {
    return this.questions.ask(question);
  }

  async settle(keys: readonly string[], usage: readonly Usage[]): Promise<void> {
    const told = this.policy.counters.map((counter) => usageOf(counter, usage));
    const limits = this.limitsNow().map((limit, index) => told[index]?.limit ?? limit);
    this.beliefs.limits = limits.join(' ');
    const used = told.map((one) => one?.used ?? -1);
    await settle.run(this.redis, [this.limitsKey, ...keys], [this.beliefs.limits, ...used]);
  }

  /** What a 429 means for a call that was charged then. */
  closureBy(chargedAtMs: number, usage: readonly Usage[], retryAfterMs: number): Closure {
    const rateLimited = { chargedAtMs, nowMs: this.beliefs.nowMs(), usage, retryAfterMs };
    return closureBy(this.policy.counters, rateLimited, this.scale.factor);
  }

  /** Nobody gets a permit until then. */
  async close(closure: Closure): Promise<void> {
    this.remember(closure);
    await close.run(this.redis, [this.closedKey], [closure.untilMs, closure.window]);
  }

  /** What this process knows to be closed, also while Redis is away. */
  closedAt(nowMs: number): Closure | undefined {
    return this.lastClosure && nowMs < this.lastClosure.untilMs ? this.lastClosure : undefined;
  }

  refusedBy({ window, untilMs }: Closure, nowMs = this.beliefs.nowMs()): Refused {
    return this.refused(window, Math.max(0, untilMs - nowMs) + this.guardMs);
  }

  async release(id: string): Promise<void> {
    await this.redis.zrem(this.slotsKey, id);
  }

  async refund(id: string, state: string, keys: readonly string[]): Promise<void> {
    await refund.run(this.redis, [this.stateKey, this.slotsKey, ...keys], [state, id]);
  }

  async rebuild(state: string, nowMs: number, countOf: (counter: CounterPolicy) => number): Promise<void> {
    const { windows, keys } = this.beliefs.windowsAt(nowMs);
    const args = this.policy.counters.flatMap((counter, index) => [
      countOf(counter),
      keptUntilMs(at(windows, index)),
    ]);
    await rebuild.run(this.redis, [this.stateKey, ...keys], [state, ...args]);
  }

  async gauges(): Promise<Gauge[]> {
    const { windows, keys } = this.beliefs.windowsNow();
    const [learned, closed, ...used] = await this.redis.mget([this.limitsKey, this.closedKey, ...keys]);
    this.beliefs.limits = learned ?? '';
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
      return closure?.window === nameOf({ bucket, window })
        ? { ...gauge, closedUntil: new Date(closure.untilMs) }
        : gauge;
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
      const windows = this.beliefs.windowsNow();
      const share = this.beliefs.shareOf(callClass, windows);
      const believed = [state, this.beliefs.limits, windows.fromMs, windows.untilMs];
      const [granted, nowMs, ...why] = await acquire.run(
        this.redis,
        [this.stateKey, this.limitsKey, this.closedKey, this.slotsKey, ...windows.keys],
        [...believed, questions.length, this.policy.slots, this.slotMs, ...share.args, ...ids],
      );
      this.beliefs.setClock(nowMs);
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
        this.beliefs.limits = instead as string;
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
    return this.refused(nameOf(at(this.policy.counters, opens.indexOf(last))), last - nowMs + this.guardMs);
  }

  private refused(window: string, retryAfterMs: number): Refused {
    return { kind: 'refused', window, retryAfterMs: Math.ceil(retryAfterMs) };
  }

  limitsNow(): number[] {
    return this.beliefs.limitsNow();
  }

  private remember(closure: Closure): Closure {
    this.lastClosure = longerOf(this.lastClosure, closure);
    return closure;
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

const areAlike = (one: Question, other: Question) =>
  one.class === other.class && one.holdsSlot === other.holdsSlot && one.state === other.state;
