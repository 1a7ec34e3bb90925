import { randomUUID } from 'node:crypto';
import {
  type ClockRange,
  DependencyUnavailable,
  isRedisAway,
  type Logger,
  OneAtATime,
  type RedisClient,
  type Sql,
  type TimeScale,
} from '#platform';
import {
  type Charge,
  type GrantedPermit,
  type NotNow,
  type Permit,
  type PermitOutcome,
  type VendorCall,
} from './permit.js';
import { type ClosedWindow, laterClosed } from './closed-window.js';
import { type ClockDifference, differenceShownBy, secondsOf } from './clock-difference.js';
import { Counters, type Gauge, sidesOf } from './counters.js';
import { type LedgerCounts, type Ledger, type Limits } from './ledger.js';
import { budgetRefusals, rateLimited, vendorRequests } from './metrics.js';
import { type PermitWait, waitForPermit } from './permit.js';
import {
  beginsWithRequest,
  CALL_CLASSES,
  type CallClass,
  type CounterPolicy,
  nameOf,
  type VendorPolicy,
} from './policy.js';
import { readRates, type Usage } from './rate-headers.js';
import { readTraffic, type TrafficView } from './traffic.js';
import { freshMs, type StraddledWindows, type Window } from './windows.js';

interface ClassUse {
  readonly class: CallClass;
  /** Calls in the current window. */
  readonly used: number;
  /** Calls of the limit that this class leaves to more urgent classes now. */
  readonly reserve: number;
}

interface BudgetUsage {
  readonly counters: ReadonlyArray<Gauge & { readonly classes: readonly ClassUse[] }>;
  /** 0 without calls. */
  readonly refusedShare: number;
}

// A rebuild costs one more try; more tries than this mean a bug.
const MAX_TRIES = 5;

const DIFFERENCE_KEPT_MS = 60_000;
const CLOCK_KEPT_MS = 600_000;

const TOO_MANY_REQUESTS = 429;
const DAY_MS = 86_400_000;

// A random id per process plus a counter: unique ids without random bytes per call.
const PROCESS = randomUUID();
let grants = 0;

/**
 * One vendor's budget, shared by all workers. Before a call is sent, it is charged to all the vendor's windows in one step and
 * recorded in the ledger. If the charge or the record fails, the call is not made.
 *
 * The counters' state is `epoch:replication id`. Redis makes a new replication id when it starts and when a replica becomes the master. The
 * epoch is kept in Postgres and changes with every rebuild. So counters from before a restart or a fail-over are never used, and a charge from
 * before a rebuild, or by a master that was replaced, cannot be recorded.
 *
 * The vendor's limits are stored beside the epoch, and a changed limit begins a new epoch. Once the new epoch is committed, no call
 * is recorded under the old limit, even if Redis was flushed or could not be reached.
 *
 * While Redis is away, only live calls get permits; the ledger counts the calls and gives one permit at a time. The ledger names the windows
 * by Redis' clock: it adds the last known difference of the clocks to Postgres' clock.
 *
 * Not guaranteed: a fail-over may lose slots, so for the length of a call more calls than `slots` may be under way. A call recorded before the
 * vendor reported a lower limit may exceed that limit. If Redis loses the corrected end of a window that began with a request, calls until the
 * next answer may exceed the limit. A request that arrives more than 2 s after it was written may count in the vendor's next window. If a
 * vendor answers none of the calls in a window that began with a request, its window may end later than ours. The
 * difference between the clocks of Redis and the vendor is unknown until an answer has shown it. If it changes, for example by a fail-over to
 * a Redis with another clock, the same is true until the next answer; and after a change by a whole window or more, calls of the vendor's
 * present window are not found.
 */
export class VendorBudget {
  private readonly counters: Counters;
  private readonly restores = new OneAtATime<string>();
  private state: string | undefined;
  private lastDate: ClockRange | undefined;
  private differenceLearnedAtMs = -Infinity;
  private clockKeptAtMs = performance.now();

  /** `redis` is a `budgetConnection`. */
  constructor(
    readonly policy: VendorPolicy,
    redis: RedisClient,
    private readonly ledger: Ledger,
    private readonly scale: TimeScale,
    private readonly logger: Logger,
  ) {
    this.counters = new Counters(policy, redis, scale);
  }

  async requestPermit(call: VendorCall): Promise<PermitOutcome> {
    const outcome = await this.permitByCounters(call);
    if (outcome.kind === 'notNow')
      budgetRefusals.inc({ vendor: this.policy.vendor, class: call.class, window: outcome.window });
    return outcome;
  }

  /** Waits for a boundary to pass or for a slot: near a window boundary the call is delayed, and refused only if `waitMs` is too short. */
  waitForPermit(call: VendorCall, wait: PermitWait): Promise<PermitOutcome> {
    return waitForPermit(() => this.requestPermit(call), wait);
  }

  private granted(permit: Permit): GrantedPermit {
    const granted: GrantedPermit = {
      kind: 'granted',
      permit,
      isFresh: () => this.isFresh(permit),
      settle: async (answer) => {
        const { usage, retryAfterSeconds, dateMs } = readRates(this.policy, answer?.headers ?? {});
        const told = { retryAfterSeconds, dateMs };
        if (dateMs !== undefined) this.lastDate = vendorsClock(dateMs, permit.askedAtMs);
        granted.closedWindow = await this.settle(permit, answer?.status ?? 0, usage, told);
      },
      giveBack: () => this.giveBack(permit),
    };
    return granted;
  }

  private async permitByCounters(call: VendorCall): Promise<PermitOutcome> {
    try {
      for (let tries = 0; tries < MAX_TRIES; tries += 1) {
        const charge = await this.charge(call);
        if ('kind' in charge) return charge;
        const permit = await this.record(charge);
        if (permit) {
          await this.keepRedisClock();
          return this.granted(permit);
        }
        this.forgetState(charge.state);
      }
    } catch (err) {
      this.logger.warn(
        { err, vendor: this.policy.vendor },
        'no permit from the counters: Redis or Postgres failed',
      );
      // A person waits for a live call, so the ledger's own count may permit the call. Imports and backfills wait for Redis.
      if (call.class === 'live' && !call.needsCounters && isRedisAway(err)) return this.permitByLedger(call);
    }
    return { kind: 'unavailable' };
  }

  /** Charges the counters in Redis without recording the call in the ledger. */
  async charge(call: VendorCall): Promise<Charge | NotNow> {
    const id = `${PROCESS}:${(grants += 1)}`;
    for (let tries = 0; tries < MAX_TRIES; tries += 1) {
      const state = this.state ?? (await this.restores.run('state', () => this.restore()));
      const { holdsSlot = false, straddles = false } = call;
      const askedAtMs = performance.now();
      const outcome = await this.counters.charge({ id, class: call.class, holdsSlot, straddles, state });
      switch (outcome.kind) {
        case 'granted': {
          const { kind: _granted, ...charged } = outcome;
          return { ...charged, id, call, state, askedAtMs };
        }
        case 'notNow':
          return outcome;
        case 'lost':
          this.forgetState(state);
      }
    }
    throw new Error(`the counters were lost ${MAX_TRIES} times in a row`);
  }

  /** False if the request might reach the vendor in another window than the permit was charged to. */
  isFresh(permit: Permit): boolean {
    return performance.now() - permit.askedAtMs < freshMs(this.counters.guardMs);
  }

  /**
   * Records the vendor's answer to a request. Status 0 means that there was no answer, although the request may have arrived.
   * After a 429, closes the window to all classes and returns when it opens. A `Retry-After` beyond the window's end keeps the
   * window closed for longer.
   */
  async settle(
    permit: Permit,
    status: number,
    usage: readonly Usage[],
    { retryAfterSeconds = 0, dateMs }: { readonly retryAfterSeconds?: number; readonly dateMs?: number } = {},
  ): Promise<NotNow | undefined> {
    const { vendor } = this.policy;
    const { class: callClass, endpoint, holdsSlot } = permit.call;
    const windows = this.counters.realigned(permit, usage);
    const shown = this.counters.shownBy(permit, dateMs);
    vendorRequests.inc({ vendor, endpoint, class: callClass, status: status || 'no_answer' });
    const closed =
      status === TOO_MANY_REQUESTS
        ? this.counters.closedBy429(permit, windows, {
            usage,
            retryAfterMs: retryAfterSeconds * 1_000,
            shown,
          })
        : undefined;
    await this.unlessAway(() => this.ledger.finish(permit.ledgerId, status, closed));
    const limits = this.counters.changedLimits(usage);
    if (limits) await this.unlessAway(() => this.learn(limits, epochOf(permit.state)));
    const difference = this.counters.changedDifference(shown);
    if (difference) await this.unlessAway(() => this.learnDifference(difference));
    await this.unlessAway(async () => {
      if (usage.length > 0 && permit.keys.length > 0 && !permit.isNearBoundary)
        await this.counters.settle(permit, usage, shown);
      if (permit.keys.length > 0) await this.counters.realign(permit, windows);
      if (holdsSlot) await this.counters.release(permit.id);
    });
    if (!closed) return undefined;
    rateLimited.inc({ vendor });
    await this.close(closed);
    return this.counters.notNowUntil(closed);
  }

  private tellDifference(difference: ClockDifference): void {
    const { vendor } = this.policy;
    const seconds = secondsOf(difference);
    if (seconds === 0) this.logger.info({ vendor }, 'the clocks of Redis and the vendor agree again');
    else
      this.logger.warn(
        { vendor, seconds },
        "Redis' clock differs from the vendor's, so calls near the boundaries of windows count in both",
      );
  }

  /** Deletes the record and the charge of a permit whose request was not sent. */
  async giveBack(permit: Permit): Promise<void> {
    await this.unlessAway(() => this.ledger.forget(permit.ledgerId));
    await this.unlessAway(() => this.counters.refund(permit.id, permit.state, permit.keys));
  }

  /** Redis' clock minus the vendor's in seconds; 0 if they differ by less than a second, or if no answer has said otherwise. */
  get clockDifferenceSeconds(): number {
    return secondsOf(this.counters.difference);
  }

  /** The vendor's clock minus this process's, by the last answer to this process. Undefined before the first one. */
  get clockRange(): ClockRange | undefined {
    return this.lastDate;
  }

  /** The time by Redis' clock, as the ends of the gauges' windows are. Before the first charge of this process, the time by its own clock. */
  nowMs(): number {
    return this.counters.nowMs();
  }

  gauges(): Promise<Gauge[]> {
    return this.counters.gauges();
  }

  /**
   * The counters with each class's calls and reserve, and the share of the last 24 hours' calls that the vendor answered with 429. The ledger
   * counts the calls by class. `used` of a counter is higher than their sum if the vendor has counted more.
   */
  async usage(): Promise<BudgetUsage> {
    const readings = await this.counters.readings();
    const { windowId, dayId } = this.windowAndDay(readings.map(({ window }) => window));
    const traffic = await this.ledger.traffic(this.scale.wait(DAY_MS), windowId, dayId);
    const all = Object.values(traffic);
    const calls = all.reduce((sum, each) => sum + each.calls, 0);
    const refused = all.reduce((sum, each) => sum + each.rateLimited, 0);
    const counters = readings.map(({ gauge, ceilings }) => ({
      ...gauge,
      classes: CALL_CLASSES.map((name) => ({
        class: name,
        used: gauge.window === 'day' ? traffic[name].inDay : traffic[name].inWindow,
        reserve: gauge.limit - ceilings[name],
      })),
    }));
    return { counters, refusedShare: calls === 0 ? 0 : refused / calls };
  }

  /** The calls of the last 24 hours in buckets of 15 minutes; `TIME_SCALE` divides both. */
  async traffic(): Promise<TrafficView> {
    const { policy, scale } = this;
    const gauges = await this.gauges();
    return readTraffic(this.ledger, { policy, gauges, scale: scale.factor, nowMs: Date.now() });
  }

  /** Deletes ledger entries older than `keptMs`, and returns how many. */
  purge(keptMs: number): Promise<number> {
    return this.ledger.purge(keptMs);
  }

  /** Gives one permit at a time across all workers. Redis does not count this call, so a new epoch makes Redis' counters obsolete. */
  private async permitByLedger(call: VendorCall): Promise<PermitOutcome> {
    try {
      return await this.ledger.alone(async ({ epoch, limits, difference }, sql): Promise<PermitOutcome> => {
        this.counters.assume(difference);
        // The windows are named as Redis names them. By another clock the ledger would find windows without calls.
        const nowMs = this.counters.recentNowMs() ?? (await this.ledger.redisNowMs(sql));
        const current = await this.windowsByLedger(nowMs, sql);
        const { first, last } = sidesOf(current.windows, current.neighbours);
        const counts = await this.countsOf([first, last], nowMs, sql);
        const notNow = this.notNowByLedger(nowMs, current, counts, this.counters.limitsOf(limits));
        if (notNow) return notNow;
        await this.ledger.advance(sql);
        const { userId, endpoint, class: callClass } = call;
        const ledgerId = await this.ledger.record(
          { userId, endpoint, class: callClass, ...this.windowAndDay(last) },
          epoch + 1,
          sql,
        );
        if (!ledgerId)
          throw new Error('the ledger rejected a call of the epoch that this transaction has just begun');
        const permit = {
          id: ledgerId,
          call,
          ledgerId,
          keys: [],
          windows: first,
          recordedIn: last,
          isNearBoundary: current.neighbours.some(Boolean),
          // Redis was not charged. No state in Redis equals this state, so a refund decrements nothing.
          state: stateOf(epoch + 1, ''),
          nowMs,
          askedAtMs: performance.now(),
        };
        return this.granted(permit);
      });
    } catch (err) {
      this.logger.warn({ err, vendor: this.policy.vendor }, 'no permit from the ledger: Postgres failed');
      return { kind: 'unavailable' };
    }
  }

  private notNowByLedger(
    nowMs: number,
    current: StraddledWindows,
    counts: LedgerCounts,
    limits: readonly number[],
  ): NotNow | undefined {
    const boundary = this.counters.boundaryAt(nowMs, current);
    if (boundary) return boundary;
    const closed = this.closedByLedger(nowMs, counts);
    if (closed) return this.counters.notNowUntil(closed, nowMs);
    for (const [index, counter] of this.policy.counters.entries()) {
      const used = counter.window === 'day' ? counts.day : counts.window;
      const window = current.windows[index];
      if (!window || used < (limits[index] ?? 0)) continue;
      // Only one of the two windows may be full. After the boundary it is known which window counts.
      if (current.neighbours[index])
        return this.counters.notNowUntil(
          { window: nameOf(counter), untilMs: current.untilsMs[index] ?? nowMs },
          nowMs,
        );
      return this.counters.notNowWhileOpen(nameOf(counter), window, nowMs);
    }
    return undefined;
  }

  /** Stores the limits and updates Redis at once: otherwise a window that is full under a lower limit would stay full until its end. */
  private async learn(limits: Limits, epoch: number): Promise<void> {
    await this.ledger.learn(limits, epoch);
    // Runs its own restore: a shared restore that is under way may have read the old limits.
    await this.restore();
  }

  /**
   * Stores the difference, so that a process without an earlier call knows it, and rebuilds the counters: near a boundary, others are needed
   * now. A vendor whose servers disagree about the time would have them rebuilt with each answer, so a process does this once a minute.
   */
  private async learnDifference(difference: ClockDifference): Promise<void> {
    if (performance.now() - this.differenceLearnedAtMs < this.scale.wait(DIFFERENCE_KEPT_MS)) return;
    const isNew = await this.ledger.learnDifference(difference);
    this.differenceLearnedAtMs = performance.now();
    if (isNew) this.tellDifference(difference);
    await this.restore();
  }

  /** Refreshes the ledger's difference from Redis' clock, so that a process without an earlier call knows Redis' time while Redis is away. */
  private async keepRedisClock(): Promise<void> {
    if (performance.now() - this.clockKeptAtMs < CLOCK_KEPT_MS) return;
    this.clockKeptAtMs = performance.now();
    await this.unlessAway(() => this.ledger.learnRedisClock(this.counters.nowMs()));
  }

  /** The closed window that this process or the ledger knows of, without Redis. */
  private closedByLedger(nowMs: number, { closed }: LedgerCounts): ClosedWindow | undefined {
    return laterClosed(this.counters.closedAt(nowMs), closed);
  }

  /** Closes the window in Redis. If Redis is away, begins a new epoch: Redis is then rebuilt from the ledger. The ledger has the 429. */
  private async close(closed: ClosedWindow): Promise<void> {
    const isInRedis = await this.unlessAway(() => this.counters.close(closed));
    if (!isInRedis) await this.unlessAway(() => this.ledger.alone((_, sql) => this.ledger.advance(sql)));
  }

  /** Runs `work`. Returns false if Redis or Postgres is away: the vendor's answer must reach the caller nevertheless. */
  private async unlessAway(work: () => Promise<void>): Promise<boolean> {
    try {
      await work();
      return true;
    } catch (err) {
      if (!isRedisAway(err) && !(err instanceof DependencyUnavailable)) throw err;
      this.logger.warn({ err, vendor: this.policy.vendor }, 'call not settled in Redis or Postgres');
      return false;
    }
  }

  /** Records the charge and returns the permit. If the budget was rebuilt meanwhile, refunds the charge and returns undefined. */
  private async record(charge: Charge): Promise<Permit | undefined> {
    const { userId, endpoint, class: callClass } = charge.call;
    const entry = { userId, endpoint, class: callClass, ...this.windowAndDay(charge.recordedIn) };
    let ledgerId: string | undefined;
    try {
      ledgerId = await this.ledger.record(entry, epochOf(charge.state));
    } finally {
      if (!ledgerId) await this.unlessAway(() => this.counters.refund(charge.id, charge.state, charge.keys));
    }
    return ledgerId ? { ...charge, ledgerId } : undefined;
  }

  /**
   * Returns the state to charge under. If server, epoch and limits in Redis are current, that is the state in Redis. Otherwise the
   * counters are rebuilt from the ledger for a new state. If the server changes meanwhile, the next charge rebuilds them again.
   */
  private async restore(): Promise<string> {
    const state = await this.ledger.alone(async ({ epoch, limits, difference }, sql) => {
      const { replicationId, nowMs } = await this.counters.readServer();
      await this.ledger.learnRedisClock(nowMs, sql);
      const current = stateOf(epoch, replicationId);
      const { found, isCurrent } = await this.counters.builtFor(current, limits);
      if (isCurrent) return current;
      this.counters.assume(difference);
      await this.ledger.advance(sql);
      const rebuilt = stateOf(epoch + 1, replicationId);
      // Calls near a boundary are charged to both sides, so both counters are needed again.
      const windows = await this.windowsByLedger(nowMs, sql, { straddles: true });
      const { first, last } = sidesOf(windows.windows, windows.neighbours);
      const counts = {
        both: await this.countsOf([first, last], nowMs, sql),
        last: await this.countsOf([last], nowMs, sql),
      };
      const closed = this.closedByLedger(nowMs, counts.both);
      // Close before the rebuild: once the state is written, other workers get permits.
      if (closed) await this.counters.close(closed);
      await this.counters.rebuild({ found, state: rebuilt }, limits, windows, counts);
      const { window, day, closed: closure } = counts.both;
      this.logger.info(
        { vendor: this.policy.vendor, epoch: epoch + 1, limits, window, day, closure },
        'budget rebuilt from the ledger',
      );
      return rebuilt;
    });
    this.state = state;
    return state;
  }

  /** Forgets `state`, but keeps a newer state that a concurrent call has restored. */
  private forgetState(state: string): void {
    if (this.state === state) this.state = undefined;
  }

  /** The windows by the ledger. Reads the newest windows from it if a request begins them: they do not follow from the clock. */
  private async windowsByLedger(
    nowMs: number,
    sql: Sql,
    asked: { readonly straddles?: boolean } = {},
  ): Promise<StraddledWindows> {
    const newest = this.policy.counters.some(beginsWithRequest)
      ? await this.ledger.newestWindows(sql)
      : { window: 0, day: 0 };
    const newestOf = ({ window }: CounterPolicy) => (window === 'day' ? newest.day : newest.window);
    return this.counters.windowsByLedger(nowMs, newestOf, asked);
  }

  /** Counts the ledger's calls of the first side of a boundary, of the last, or of both together. */
  private countsOf(sides: ReadonlyArray<readonly Window[]>, nowMs: number, sql: Sql): Promise<LedgerCounts> {
    const ids = sides.map((windows) => this.windowAndDay(windows));
    const { longestClosedMs } = this.counters;
    return this.ledger.counts(
      ids.map(({ windowId }) => windowId),
      ids.map(({ dayId }) => dayId),
      { nowMs, longestClosedMs },
      sql,
    );
  }

  private windowAndDay(windows: readonly Window[]): { windowId: number; dayId: number } {
    const { counters } = this.policy;
    const idOf = (isDay: boolean) =>
      windows[counters.findIndex(({ window }) => (window === 'day') === isDay)]?.id;
    const windowId = idOf(false) ?? 0;
    return { windowId, dayId: idOf(true) ?? windowId };
  }
}

/** `askedAtMs` is a time of `performance.now()`. */
function vendorsClock(dateMs: number, askedAtMs: number): ClockRange {
  const answeredAtMs = Date.now();
  const chargedAtMs = answeredAtMs - (performance.now() - askedAtMs);
  const ours = differenceShownBy(dateMs, { chargedAtMs, answeredAtMs });
  return { leastMs: -ours.mostMs, mostMs: -ours.leastMs };
}

const stateOf = (epoch: number, replicationId: string) => `${epoch}:${replicationId}`;
const epochOf = (state: string) => Number(state.split(':')[0]);
