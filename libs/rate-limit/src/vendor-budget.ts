import { randomUUID } from 'node:crypto';
import { type Redis } from 'ioredis';
import { DependencyUnavailable, isRedisAway, type Logger, OneAtATime, type TimeScale } from '#platform';
import { type Acquisition, type Call, type Grant, type Permit, type Refused } from './acquisition.js';
import { type Closure, longerOf } from './closure.js';
import { Counters, type Gauge } from './counters.js';
import { type Counts, type Ledger, type Traffic } from './ledger.js';
import { budgetRefusals, rateLimited, vendorRequests } from './metrics.js';
import { type Patience, patiently } from './patience.js';
import { type CallClass, nameOf, type VendorPolicy } from './policy.js';
import { type Usage } from './usage.js';
import { windowAt } from './windows.js';

// A rebuild costs one more question; more than that is no coincidence.
const MOST_QUESTIONS = 5;

const TOO_MANY_REQUESTS = 429;
const DAY_MS = 86_400_000;
const LEDGER_KEPT_DAYS = 7;

// Unique without asking for random bytes per call.
const PROCESS = randomUUID();
let grants = 0;

/**
 * One vendor's limits, shared by all workers: every request is charged to all its windows at once or not made, and
 * recorded before it is sent.
 *
 * The counters' state is `epoch:run id`. The run id changes when Redis restarts, the epoch (kept in Postgres) with every
 * rebuild, so a counter that has forgotten something is never asked, and a permit from before a rebuild cannot be recorded.
 */
export class VendorBudget {
  private readonly counters: Counters;
  private readonly restores = new OneAtATime<string>();
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
    const acquisition = await this.acquireByCounters(call);
    if (acquisition.kind === 'refused')
      budgetRefusals.inc({ vendor: this.policy.vendor, class: call.class, window: acquisition.window });
    return acquisition;
  }

  /** Waits in place while only a boundary or the slots are in the way: a call near a boundary is late, and does not fail. */
  acquirePatiently(call: Call, patience: Patience): Promise<Acquisition> {
    return patiently(() => this.acquire(call), patience);
  }

  private async acquireByCounters(call: Call): Promise<Acquisition> {
    try {
      for (let question = 0; question < MOST_QUESTIONS; question += 1) {
        const grant = await this.decide(call);
        if ('kind' in grant) return grant;
        const permit = await this.record(grant);
        if (permit) return { kind: 'granted', permit };
        this.forgetState(grant.state);
      }
    } catch (err) {
      this.logger.warn({ err, vendor: this.policy.vendor }, 'budget cannot be asked');
      // The way a person waits for is kept open by the ledger's own count. Imports and backfills wait for Redis.
      if (call.class === 'live' && !call.needsCounters && isRedisAway(err)) return this.acquireByLedger(call);
    }
    return { kind: 'unavailable' };
  }

  /** The counters' word alone. */
  async decide(call: Call): Promise<Grant | Refused> {
    const id = `${PROCESS}:${(grants += 1)}`;
    for (let question = 0; question < MOST_QUESTIONS; question += 1) {
      const state = this.state ?? (await this.restores.run('state', () => this.restore()));
      const holdsSlot = call.holdsSlot ?? false;
      const answer = await this.counters.ask({ id, class: call.class, holdsSlot, state });
      switch (answer.kind) {
        case 'granted':
          return { id, call, state, keys: answer.keys, nowMs: answer.nowMs, grantedAtMs: performance.now() };
        case 'refused':
          return answer;
        case 'lost':
          this.forgetState(state);
      }
    }
    throw new Error(`the budget changed under ${MOST_QUESTIONS} questions`);
  }

  /** A permit older than the guard may reach the vendor in another window than it was charged to. */
  isFresh(permit: Permit): boolean {
    return performance.now() - permit.grantedAtMs < this.counters.guardMs;
  }

  /**
   * The request was answered. Status 0: it was not, but may have arrived. Answers what a 429 has closed, to all classes, and
   * until when; a `Retry-After` counts where it is longer than the window.
   */
  async settle(
    permit: Permit,
    status: number,
    usage: readonly Usage[],
    retryAfterSeconds = 0,
  ): Promise<Refused | undefined> {
    const { vendor } = this.policy;
    const { class: callClass, endpoint, holdsSlot } = permit.call;
    vendorRequests.inc({ vendor, endpoint, class: callClass, status: status || 'no_answer' });
    const closure =
      status === TOO_MANY_REQUESTS
        ? this.counters.closureBy(permit.nowMs, usage, retryAfterSeconds * 1_000)
        : undefined;
    await this.unlessAway(() => this.ledger.finish(permit.ledgerId, status, closure));
    await this.unlessAway(async () => {
      if (usage.length > 0) await this.counters.settle(permit.keys, usage);
      if (holdsSlot) await this.counters.release(permit.id);
    });
    if (!closure) return undefined;
    rateLimited.inc({ vendor });
    await this.close(closure);
    return this.counters.refusedBy(closure);
  }

  /** The request was not put on the wire. */
  async giveBack(permit: Permit): Promise<void> {
    await this.unlessAway(() => this.ledger.forget(permit.ledgerId));
    await this.unlessAway(() => this.counters.refund(permit.id, permit.state, permit.keys));
  }

  gauges(): Promise<Gauge[]> {
    return this.counters.gauges();
  }

  /** The calls of the last 24 hours by class, and how many of them the vendor answered with 429. */
  traffic(): Promise<Record<CallClass, Traffic>> {
    return this.ledger.traffic(this.scale.wait(DAY_MS));
  }

  /** Deletes what the ledger has held for seven days; for a sweep. */
  purge(): Promise<number> {
    return this.ledger.purge(this.scale.wait(LEDGER_KEPT_DAYS * DAY_MS));
  }

  /** One at a time over all workers, and every state in Redis is obsolete afterwards: it lacks this call. */
  private async acquireByLedger(call: Call): Promise<Acquisition> {
    try {
      return await this.ledger.alone(async (epoch, sql): Promise<Acquisition> => {
        const nowMs = await this.ledger.nowMs(sql);
        const ids = this.windowAndDay(nowMs);
        const counts = await this.ledger.counts(ids.windowId, ids.dayId, nowMs, sql);
        const refusal = this.refusalByLedger(nowMs, counts);
        if (refusal) return refusal;
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

  private refusalByLedger(nowMs: number, counts: Counts): Refused | undefined {
    const boundary = this.counters.boundaryAt(nowMs);
    if (boundary) return boundary;
    const closure = this.closureByLedger(nowMs, counts);
    if (closure) return this.counters.refusedBy(closure, nowMs);
    const limits = this.counters.limitsNow();
    for (const [index, counter] of this.policy.counters.entries()) {
      const used = counter.window === 'day' ? counts.day : counts.window;
      const untilMs = windowAt(nowMs, counter.seconds, this.scale.factor).endsAtMs;
      if (used >= (limits[index] ?? 0))
        return this.counters.refusedBy({ window: nameOf(counter), untilMs }, nowMs);
    }
    return undefined;
  }

  /** What is closed, as far as it is known without Redis. */
  private closureByLedger(nowMs: number, { closure }: Counts): Closure | undefined {
    return longerOf(this.counters.closedAt(nowMs), closure);
  }

  /** Where Redis cannot be told, its state is made obsolete: whoever rebuilds it finds the 429 in the ledger. */
  private async close(closure: Closure): Promise<void> {
    const isTold = await this.unlessAway(() => this.counters.close(closure));
    if (!isTold) await this.unlessAway(() => this.ledger.alone((_, sql) => this.ledger.advance(sql)));
  }

  /** A vendor's answer is not lost for a server that cannot take note of it: what Redis missed is in the ledger. */
  private async unlessAway(work: () => Promise<void>): Promise<boolean> {
    try {
      await work();
      return true;
    } catch (err) {
      if (!isRedisAway(err) && !(err instanceof DependencyUnavailable)) throw err;
      this.logger.warn({ err, vendor: this.policy.vendor }, 'budget not settled everywhere');
      return false;
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
      if (!ledgerId) await this.unlessAway(() => this.counters.refund(grant.id, grant.state, grant.keys));
    }
    return ledgerId ? { ...grant, ledgerId } : undefined;
  }

  /** The state to build on: Redis' own, if it is of this server and this epoch, else one made from the ledger. */
  private async restore(): Promise<string> {
    const runId = (this.runId ??= await this.askRunId());
    const state = await this.ledger.alone(async (epoch, sql) => {
      const current = `${epoch}:${runId}`;
      if ((await this.counters.state()) === current) return current;
      await this.ledger.advance(sql);
      const rebuilt = `${epoch + 1}:${runId}`;
      const nowMs = await this.askTime();
      const { windowId, dayId } = this.windowAndDay(nowMs);
      const counts = await this.ledger.counts(windowId, dayId, nowMs, sql);
      const closure = this.closureByLedger(nowMs, counts);
      // Before the state is there: from then on others get permits.
      if (closure) await this.counters.close(closure);
      await this.counters.rebuild(rebuilt, nowMs, ({ window }) =>
        window === 'day' ? counts.day : counts.window,
      );
      this.logger.info(
        { vendor: this.policy.vendor, epoch: epoch + 1, ...counts },
        'budget rebuilt from the ledger',
      );
      return rebuilt;
    });
    // Gone meanwhile, it may come back with an old snapshot, in which that very state may stand.
    if (this.runId !== runId) throw new Error('Redis was restarted while its budget was restored');
    this.state = state;
    return state;
  }

  /** Somebody may have restored it since that question was asked. */
  private forgetState(state: string): void {
    if (this.state === state) this.state = undefined;
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
    const idOf = (isMeant: (window: string) => boolean) => {
      const seconds = this.policy.counters.find(({ window }) => isMeant(window))?.seconds ?? 1;
      return windowAt(nowMs, seconds, this.scale.factor).id;
    };
    return { windowId: idOf((window) => window !== 'day'), dayId: idOf((window) => window === 'day') };
  }
}

const epochOf = (state: string) => Number(state.split(':')[0]);
