import { randomUUID } from 'node:crypto';
import { type Redis } from 'ioredis';
import { isRedisAway, type Logger, type TimeScale } from '#platform';
import { Counters, type Gauge, type Usage } from './counters.js';
import { type Counts, type Ledger } from './ledger.js';
import { type CallClass, type VendorPolicy } from './policy.js';
import { windowAt } from './windows.js';

export interface Call {
  readonly class: CallClass;
  readonly endpoint: string;
  readonly userId: string | null;
  /** A slot limits how many such calls are under way at once. */
  readonly holdsSlot?: boolean;
}

/** What the counters gave: to be recorded, and then used or given back. */
export interface Grant {
  readonly id: string;
  readonly call: Call;
  readonly keys: readonly string[];
  readonly state: string;
  readonly nowMs: number;
  readonly grantedAtMs: number;
}

/** Leave to make one HTTP request, now. */
export interface Permit extends Grant {
  readonly ledgerId: string;
}

export interface Refused {
  readonly kind: 'refused';
  /** `read 15min`, `read day`, … or why else not now: `boundary`, `slot`. */
  readonly window: string;
  readonly retryAfterMs: number;
}

export type Acquisition =
  | { readonly kind: 'granted'; readonly permit: Permit }
  | Refused
  /** Nobody can say what has been spent: rows stay as they are, for later. */
  | { readonly kind: 'unavailable' };

// A rebuild costs one more question; more than that is no coincidence.
const MOST_QUESTIONS = 5;

/**
 * One vendor's limits, shared by all workers: every request is charged to all its windows at once or not made, and
 * recorded before it is sent.
 *
 * The counters' state is `epoch:run id`. The run id changes when Redis restarts, the epoch (kept in Postgres) with every
 * rebuild, so a counter that has forgotten something is never asked, and a permit from before a rebuild cannot be recorded.
 */
export class VendorBudget {
  private readonly counters: Counters;
  private runId: string | undefined;
  private state: string | undefined;

  /** `redis` is a `budgetConnection`. */
  constructor(
    private readonly policy: VendorPolicy,
    private readonly redis: Redis,
    private readonly ledger: Ledger,
    private readonly scale: TimeScale,
    private readonly logger: Logger,
  ) {
    this.counters = new Counters(policy, redis, scale);
    redis.on('close', () => {
      this.runId = undefined;
      this.state = undefined;
    });
  }

  async acquire(call: Call): Promise<Acquisition> {
    try {
      for (let question = 0; question < MOST_QUESTIONS; question += 1) {
        const grant = await this.decide(call);
        if ('kind' in grant) return grant;
        const permit = await this.record(grant);
        if (permit) return { kind: 'granted', permit };
        this.state = undefined;
      }
    } catch (err) {
      this.logger.warn({ err, vendor: this.policy.vendor }, 'budget cannot be asked');
      // The way a person waits for is kept open by the ledger's own count. Imports and backfills wait for Redis.
      if (call.class === 'live' && isRedisAway(err)) return this.acquireByLedger(call);
    }
    return { kind: 'unavailable' };
  }

  /** The counters' word alone. */
  async decide(call: Call): Promise<Grant | Refused> {
    const id = randomUUID();
    for (let question = 0; question < MOST_QUESTIONS; question += 1) {
      const state = this.state ?? (await this.restore());
      const answer = await this.counters.ask({
        id,
        class: call.class,
        holdsSlot: call.holdsSlot ?? false,
        state,
      });
      switch (answer.verdict) {
        case 'granted':
          return { id, call, state, keys: answer.keys, nowMs: answer.nowMs, grantedAtMs: performance.now() };
        case 'refused':
          return { kind: 'refused', window: answer.window, retryAfterMs: answer.retryAfterMs };
        case 'lost':
          this.state = undefined;
      }
    }
    throw new Error(`the budget changed under ${MOST_QUESTIONS} questions`);
  }

  /** A permit older than the guard may reach the vendor in another window than it was charged to. */
  isFresh(permit: Permit): boolean {
    return performance.now() - permit.grantedAtMs < this.counters.guardMs;
  }

  /** The request was answered. Status 0: it was not, but may have arrived. */
  async settle(permit: Permit, status: number, usage: readonly Usage[]): Promise<void> {
    await this.ledger.finish(permit.ledgerId, status);
    await this.ifRedisIsThere(async () => {
      if (usage.length > 0) await this.counters.settle(permit.keys, usage);
      if (permit.call.holdsSlot) await this.counters.release(permit.id);
    });
  }

  /** The request was not put on the wire. */
  async giveBack(permit: Permit): Promise<void> {
    await this.ledger.forget(permit.ledgerId);
    await this.ifRedisIsThere(() => this.counters.refund(permit.id, permit.state, permit.keys));
  }

  gauges(): Promise<Gauge[]> {
    return this.counters.gauges();
  }

  /** One at a time over all workers, and every state in Redis is obsolete afterwards: it lacks this call. */
  private async acquireByLedger(call: Call): Promise<Acquisition> {
    try {
      return await this.ledger.alone(async (epoch, sql): Promise<Acquisition> => {
        const nowMs = await this.ledger.nowMs(sql);
        const ids = this.windowAndDay(nowMs);
        const full = this.fullWindow(nowMs, await this.ledger.counts(ids.windowId, ids.dayId, sql));
        if (full) return full;
        await this.ledger.advance(sql);
        const { userId, endpoint, class: callClass } = call;
        const ledgerId = await this.ledger.record(
          { userId, endpoint, class: callClass, ...ids },
          epoch + 1,
          sql,
        );
        if (!ledgerId) throw new Error('the ledger refused its own epoch');
        const permit = {
          id: ledgerId,
          call,
          ledgerId,
          keys: [],
          state: '',
          nowMs,
          grantedAtMs: performance.now(),
        };
        return { kind: 'granted', permit };
      });
    } catch (err) {
      this.logger.warn({ err, vendor: this.policy.vendor }, 'ledger cannot be asked');
      return { kind: 'unavailable' };
    }
  }

  private fullWindow(nowMs: number, counts: Counts): Refused | undefined {
    const boundary = this.counters.boundaryAt(nowMs);
    if (boundary) return { kind: 'refused', window: boundary.window, retryAfterMs: boundary.retryAfterMs };
    const limits = this.counters.limitsNow();
    for (const [index, { bucket, window, seconds }] of this.policy.counters.entries()) {
      const name = `${bucket} ${window}`;
      const used = window === 'day' ? counts.day : counts.window;
      const { endsAtMs } = windowAt(nowMs, seconds, this.scale.factor);
      if (used >= (limits[index] ?? 0))
        return {
          kind: 'refused',
          window: name,
          retryAfterMs: Math.ceil(endsAtMs - nowMs + this.counters.guardMs),
        };
    }
    return undefined;
  }

  /** What is not taken over by Redis now is in the ledger, from which it will be rebuilt. */
  private async ifRedisIsThere(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (err) {
      if (!isRedisAway(err)) throw err;
      this.logger.warn({ err, vendor: this.policy.vendor }, 'budget not settled in redis');
    }
  }

  /** The permit, once the ledger has the call; nothing if the budget was rebuilt in between. */
  private async record(grant: Grant): Promise<Permit | undefined> {
    const { userId, endpoint, class: callClass } = grant.call;
    const entry = { userId, endpoint, class: callClass, ...this.windowAndDay(grant.nowMs) };
    let ledgerId: string | undefined;
    try {
      ledgerId = await this.ledger.record(entry, epochOf(grant.state));
    } finally {
      if (!ledgerId) await this.ifRedisIsThere(() => this.counters.refund(grant.id, grant.state, grant.keys));
    }
    return ledgerId ? { ...grant, ledgerId } : undefined;
  }

  /** The state to build on: Redis' own, if it is of this server and this epoch, else one made from the ledger. */
  private async restore(): Promise<string> {
    const runId = (this.runId ??= await this.askRunId());
    this.state = await this.ledger.alone(async (epoch, sql) => {
      const current = `${epoch}:${runId}`;
      if ((await this.counters.state()) === current) return current;
      await this.ledger.advance(sql);
      const rebuilt = `${epoch + 1}:${runId}`;
      const nowMs = await this.askTime();
      const { windowId, dayId } = this.windowAndDay(nowMs);
      const counts = await this.ledger.counts(windowId, dayId, sql);
      await this.counters.rebuild(rebuilt, nowMs, ({ window }) =>
        window === 'day' ? counts.day : counts.window,
      );
      this.logger.info(
        { vendor: this.policy.vendor, epoch: epoch + 1, ...counts },
        'budget rebuilt from the ledger',
      );
      return rebuilt;
    });
    return this.state;
  }

  private async askRunId(): Promise<string> {
    const [, runId] = /^run_id:(\w+)/m.exec(await this.redis.info('server')) ?? [];
    if (!runId) throw new Error('Redis does not say its run_id');
    return runId;
  }

  private async askTime(): Promise<number> {
    const [seconds, micros] = (await this.redis.time()).map(Number);
    return (seconds ?? 0) * 1_000 + (micros ?? 0) / 1_000;
  }

  private windowAndDay(nowMs: number): { windowId: number; dayId: number } {
    const idOf = (name: string) => {
      const seconds = this.policy.counters.find(({ window }) => window === name)?.seconds ?? 1;
      return windowAt(nowMs, seconds, this.scale.factor).id;
    };
    return { windowId: idOf('15min'), dayId: idOf('day') };
  }
}

const epochOf = (state: string) => Number(state.split(':')[0]);
