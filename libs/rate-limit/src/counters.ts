import { Gather, leaseLength, LuaScript, type RedisClient, slotPrefix, type TimeScale } from '#platform';
import { type Charge, type NotNow, type Permit } from './permit.js';
import {
  at,
  type CachedWindows,
  CachedLimits,
  type ClassCeilings,
  expiresAtMs,
  type Neighbour,
  textOf,
} from './cached-limits.js';
import {
  areEqual,
  type ClockDifference,
  corrected,
  differenceShownBy,
  latestShiftOf,
  shiftOf,
} from './clock-difference.js';
import {
  type ClosedWindow,
  closedBy429,
  laterClosed,
  longestClosedMs,
  parseClosedWindow,
} from './closed-window.js';
import { type LedgerCounts, type Limits } from './ledger.js';
import {
  beginsWithRequest,
  CALL_CLASSES,
  type CallClass,
  type CounterPolicy,
  nameOf,
  type VendorPolicy,
} from './policy.js';
import { ceilingAt, opensAtMs } from './ceilings.js';
import { type Usage, usageOf } from './rate-headers.js';
import { realigned } from './realigned.js';
import {
  chargeableFromMs,
  guardMs,
  reopensAtMs,
  shifted,
  straddledAt,
  type StraddledWindows,
  type Window,
  windowFrom,
  type Windows,
  windowsAt,
} from './windows.js';

export interface Gauge extends Usage {
  readonly remaining: number;
  readonly resetsAt: Date;
  /** The vendor answered 429: no permit is given until then, even if calls remain. */
  readonly closedUntil?: Date;
}

interface Reading {
  readonly gauge: Gauge;
  readonly window: Window;
  readonly ceilings: Readonly<Record<CallClass, number>>;
}

interface RateLimited {
  readonly usage: readonly Usage[];
  readonly retryAfterMs: number;
  readonly shown: ClockDifference | undefined;
}

/** The windows and ceilings that a charge was asked under. */
interface Asked {
  readonly ceilings: ClassCeilings;
  readonly neighbours: readonly Neighbour[];
  readonly nowMs: number;
  readonly straddles: boolean;
}

interface ChargeRequest {
  readonly id: string;
  readonly class: CallClass;
  readonly holdsSlot: boolean;
  readonly straddles: boolean;
  /** `epoch:replication id` that the counters must have been built for. */
  readonly state: string;
}

type ChargeOutcome =
  | ({ readonly kind: 'granted' } & Charged)
  | NotNow
  /** Redis lost its counters, or the counters were built for another state. */
  | { readonly kind: 'lost' };

/** Where and when a call was charged. */
interface Charged extends Pick<Charge, 'keys' | 'windows' | 'recordedIn' | 'isNearBoundary'> {
  readonly nowMs: number;
}

type Reply = [
  granted: number,
  nowMs: number,
  reason: '' | 'lost' | 'limits' | 'elsewhere' | 'closed' | 'empty' | 'full' | 'slot',
  actual: string | number[],
];

const acquire = new LuaScript<Reply>(import.meta.url, './lua/acquire.lua');
const settle = new LuaScript<number>(import.meta.url, './lua/settle.lua');
const close = new LuaScript<number>(import.meta.url, './lua/close.lua');
const refund = new LuaScript<number>(import.meta.url, './lua/refund.lua');
const rebuild = new LuaScript<number>(import.meta.url, './lua/rebuild.lua');
const realign = new LuaScript<number>(import.meta.url, './lua/realign.lua');
const readServer = new LuaScript<[replicationId: string, nowMs: number]>(
  import.meta.url,
  './lua/read-server.lua',
);

// Longer than any call takes: a slot held for longer belongs to a dead process.
const SLOT_MS = 30_000;
// The lower bound under TIME_SCALE: a call takes eight seconds of real time at most.
const SHORTEST_SLOT_MS = 10_000;
// A slot becomes free when another call ends. That time is not known, so the caller tries again after this time.
const SLOT_RETRY_MS = 200;
// The stopwatch of a process drifts by less than 0.1 s in this time.
const RECENT_MS = 600_000;
// The ledger's difference from Redis' clock is corrected when it is a second off.
const INEXACT_MS = 1_000;
// Stale cached windows cost one try, and so do stale cached limits. More tries than this mean a bug.
const MAX_TRIES = 5;

/**
 * One vendor's counters in Redis. Redis decides by its own clock. This class sends its cached windows and limits. Redis
 * rejects stale windows and limits, so no script computes windows while other clients of Redis wait. Like requests of one turn of the event
 * loop (same class and state, all with a slot or all without) are one command. This class records no charge in the ledger:
 * `VendorBudget` does so, and refunds a charge that it cannot record.
 */
export class Counters {
  readonly guardMs: number;
  /** The most ms for which a 429 closes a window. */
  readonly longestClosedMs: number;
  private readonly slotMs: number;
  private readonly requests: Gather<ChargeRequest, ChargeOutcome>;
  private readonly cached: CachedLimits;
  /** The beginning of all keys of this budget, so that a Cluster has them in one slot. */
  private readonly prefix: string;
  private readonly policy: VendorPolicy;
  private lastClosed: ClosedWindow | undefined;

  constructor(
    documented: VendorPolicy,
    private readonly redis: RedisClient,
    private readonly scale: TimeScale,
  ) {
    this.prefix = slotPrefix(redis, documented.vendor);
    const counters = documented.counters.map((counter) => ({
      ...counter,
      key: `${this.prefix}${counter.key}`,
    }));
    const policy = { ...documented, counters };
    this.policy = policy;
    this.guardMs = guardMs(scale.factor, policy.counters);
    this.longestClosedMs = longestClosedMs(policy.counters, scale.factor);
    this.slotMs = leaseLength(scale, SLOT_MS, SHORTEST_SLOT_MS);
    this.cached = new CachedLimits(policy, scale);
    this.requests = new Gather((requests) => this.chargeTogether(requests), { areAlike });
  }

  charge(request: ChargeRequest): Promise<ChargeOutcome> {
    return this.requests.submit(request);
  }

  /** The difference that an answer with this `Date` shows now. Undefined without a `Date`. */
  shownBy({ keys, nowMs, askedAtMs }: Permit, dateMs: number | undefined): ClockDifference | undefined {
    if (dateMs === undefined) return undefined;
    if (keys.length > 0)
      return differenceShownBy(dateMs, { chargedAtMs: nowMs, answeredAtMs: this.cached.nowMs() });
    // The ledger dated this call by Redis' clock as last known, to within a second.
    const answeredAtMs = nowMs + performance.now() - askedAtMs;
    const { leastMs, mostMs } = differenceShownBy(dateMs, { chargedAtMs: nowMs, answeredAtMs });
    return { leastMs: leastMs - INEXACT_MS, mostMs: mostMs + INEXACT_MS };
  }

  /** The difference after an answer, if it contradicts the known one. */
  changedDifference(shown: ClockDifference | undefined): ClockDifference | undefined {
    const difference = this.differenceAfter(shown);
    return areEqual(difference, this.cached.difference) ? undefined : difference;
  }

  assume(difference: ClockDifference): void {
    this.cached.assume(difference);
  }

  /** Redis' time, if this process has heard it a short time ago. */
  recentNowMs(): number | undefined {
    return this.cached.clockAgeMs < RECENT_MS ? this.cached.nowMs() : undefined;
  }

  private differenceAfter(shown: ClockDifference | undefined): ClockDifference {
    return shown ? corrected(this.cached.difference, shown) : this.cached.difference;
  }

  /** The difference that all processes assume, as far as this process knows. */
  get difference(): ClockDifference {
    return this.cached.difference;
  }

  /** Raises our counts to the vendor's where the vendor counted more. The counts of a vendor that is still in its previous window are left out. */
  async settle(
    { keys, nowMs, windows }: Charged,
    usage: readonly Usage[],
    shown: ClockDifference | undefined,
  ): Promise<void> {
    const { counters } = this.policy;
    const difference = this.differenceAfter(shown);
    const used = counters.map((counter, index) => {
      const isOfPrevious = nowMs < at(windows, index).startsAtMs + this.shiftOf(counter, difference);
      return isOfPrevious ? -1 : (usageOf(counter, usage)?.used ?? -1);
    });
    await settle.run(this.redis, keys, used);
  }

  /** How much later than ours the vendor's windows begin. Windows that begin with a request begin alike by every clock. */
  private shiftOf(counter: CounterPolicy, difference: ClockDifference, shift = shiftOf): number {
    if (beginsWithRequest(counter)) return 0;
    return shift(difference, (counter.seconds * 1_000) / this.scale.factor);
  }

  /** The limits that an answer reports, if one of them differs from the cached limits. */
  changedLimits(usage: readonly Usage[]): Limits | undefined {
    const known = this.limitsNow();
    const reported = this.policy.counters.flatMap((counter, index) => {
      const limit = usageOf(counter, usage)?.limit;
      return limit === undefined ? [] : [{ name: nameOf(counter), limit, isKnown: limit === known[index] }];
    });
    if (reported.every(({ isKnown }) => isKnown)) return undefined;
    return Object.fromEntries(reported.map(({ name, limit }) => [name, limit]));
  }

  /** The learned limit of each counter, or the policy's if none was learned. */
  limitsOf(learned: Limits): number[] {
    return this.policy.counters.map((counter) => learned[nameOf(counter)] ?? counter.limit);
  }

  /**
   * The window that a 429 closes, for a call that was charged to `windows` at `nowMs`. It ends when the vendor's window of that moment ends:
   * if the vendor was in its next window already, the next answer closes that one.
   */
  closedBy429(
    { nowMs }: Charged,
    windows: readonly Window[],
    { usage, retryAfterMs, shown }: RateLimited,
  ): ClosedWindow {
    const { counters } = this.policy;
    const difference = this.differenceAfter(shown);
    const ofVendor = counters.map((counter, index) =>
      shifted(at(windows, index), this.shiftOf(counter, difference, latestShiftOf), nowMs),
    );
    return closedBy429(counters, { windows: ofVendor, nowMs: this.cached.nowMs(), usage, retryAfterMs });
  }

  /** The windows of a call, with the ends that the answer reports where they contradict ours. */
  realigned({ windows: chargedTo, nowMs }: Charged, usage: readonly Usage[]): readonly Window[] {
    const open = this.cached.openWindows;
    const windows = chargedTo.map((window, index) => {
      const current = open[index];
      return current?.id === window.id ? current : window;
    });
    const answeredAtMs = this.cached.nowMs();
    return realigned(this.policy.counters, { windows, nowMs, answeredAtMs, usage, guardMs: this.guardMs });
  }

  /**
   * Writes the ends of the open windows that `realigned` returned for a call. Does nothing if the limits or windows have changed since; a
   * later answer corrects the new ones.
   */
  async realign({ keys }: Charged, answered: readonly Window[]): Promise<void> {
    const open = this.cached.openWindows;
    const { difference } = this.cached;
    const changed = answered.flatMap((window, index) =>
      isNews(window, open[index]) ? [{ window, key: at(keys, index), index }] : [],
    );
    if (changed.length === 0) return;
    const next = open.map((window, index) => changed.find((one) => one.index === index)?.window ?? window);
    const text = textOf(this.policy, this.cached.limits, next, { difference });
    const isDone = await realign.run(
      this.redis,
      [this.limitsKey, ...changed.map(({ key }) => key)],
      [this.cached.text, text, ...changed.map(({ window }) => expiresAtMs(window))],
    );
    if (isDone) this.cached.adopt(text);
  }

  /** Stops permits of every class in every process until `closed.untilMs`. */
  async close(closed: ClosedWindow): Promise<void> {
    this.remember(closed);
    await close.run(this.redis, [this.closedKey], [closed.untilMs, closed.window, this.longestClosedMs]);
  }

  /** The closed window that this process knows of, also while Redis is away. */
  closedAt(nowMs: number): ClosedWindow | undefined {
    return this.lastClosed && this.isClosedAt(nowMs, this.lastClosed) ? this.lastClosed : undefined;
  }

  /** An end that is further away than `longestClosedMs` was computed before Redis' clock was set back. */
  private isClosedAt(nowMs: number, { untilMs }: ClosedWindow): boolean {
    return nowMs < untilMs && untilMs <= nowMs + this.longestClosedMs;
  }

  notNowUntil({ window, untilMs }: ClosedWindow, nowMs = this.cached.nowMs()): NotNow {
    return this.notNow(window, Math.max(0, untilMs - nowMs) + this.guardMs);
  }

  notNowWhileOpen(window: string, current: Window, nowMs: number): NotNow {
    return this.notNow(window, reopensAtMs(current, this.guardMs) - nowMs);
  }

  async release(id: string): Promise<void> {
    await this.redis.zrem(this.slotsKey, id);
  }

  async refund(id: string, state: string, keys: readonly string[]): Promise<void> {
    await refund.run(this.redis, [this.stateKey, this.slotsKey, ...keys], [state, id]);
  }

  /**
   * The windows at `nowMs` by the ledger, without Redis, and those beyond a boundary that is near if `straddles`: otherwise only if the
   * vendor's clock is known to differ. `newest` is the id of the newest window of each counter in the ledger. The id is about the ms at which
   * the window began, if it began with a request.
   */
  windowsByLedger(
    nowMs: number,
    newest: (counter: CounterPolicy) => number,
    { straddles = this.cached.differs }: { readonly straddles?: boolean } = {},
  ): StraddledWindows {
    const { counters } = this.policy;
    const open = counters.map((counter, index) => {
      if (!beginsWithRequest(counter)) return undefined;
      const id = newest(counter);
      const known = this.cached.openWindows[index];
      if (known?.id === id) return known;
      return id > 0 ? windowFrom(id, counter, counters, this.scale.factor) : undefined;
    });
    const { factor } = this.scale;
    if (straddles) return straddledAt(counters, nowMs, factor, open, this.cached.difference);
    return { ...windowsAt(counters, nowMs, factor, open), neighbours: counters.map(() => undefined) };
  }

  /**
   * Writes the counters, limits and windows to Redis, for a new state. The limits are those of the ledger, not the cached ones: a charge of
   * this process that is under way may have cached the old limits again.
   *
   * The ledger has a call near a boundary in the window that ends last. The vendor may have counted it in the first one, so that counter
   * gets the calls of both. Does nothing if Redis no longer has the state `found`.
   */
  async rebuild(
    { found, state }: { readonly found: string; readonly state: string },
    limits: Limits,
    { windows, areNew, neighbours }: StraddledWindows,
    counts: { readonly both: LedgerCounts; readonly last: LedgerCounts },
  ): Promise<void> {
    const { first, last } = sidesOf(windows, neighbours);
    const current = this.policy.counters.flatMap((counter, index) => {
      const isDay = counter.window === 'day';
      const counted = (window: Window, { window: inWindow, day }: LedgerCounts) => ({
        key: `${counter.key}${window.id}`,
        count: isDay ? day : inWindow,
        expiresAtMs: expiresAtMs(window),
      });
      // A window that no request has begun has no counter yet.
      if (at(areNew, index)) return [];
      if (!neighbours[index]) return [counted(at(last, index), counts.last)];
      return [counted(at(first, index), counts.both), counted(at(last, index), counts.last)];
    });
    const open = windows.map((window, index) => (at(areNew, index) ? undefined : window));
    const { difference } = this.cached;
    const text = textOf(this.policy, this.limitsOf(limits).join(' '), open, { difference });
    const isDone = await rebuild.run(
      this.redis,
      [this.stateKey, this.limitsKey, ...current.map(({ key }) => key)],
      [found, state, text, ...current.flatMap(({ count, expiresAtMs: endMs }) => [count, endMs])],
    );
    if (isDone) this.cached.adopt(text);
  }

  nowMs(): number {
    return this.cached.nowMs();
  }

  async gauges(): Promise<Gauge[]> {
    return (await this.readings()).map(({ gauge }) => gauge);
  }

  /** The counters with their windows, and how far each class may fill them now. */
  async readings(): Promise<Reading[]> {
    const { windows, keys } = this.cached.windowsNow();
    const [learned, closed, ...used] = await this.redis.mget([this.limitsKey, this.closedKey, ...keys]);
    if (learned && this.cached.adopt(learned)) return this.readings();
    const limits = this.limitsNow();
    const nowMs = this.cached.nowMs();
    if (closed) this.remember(parseClosedWindow(closed));
    const closedWindow = closed ? this.closedAt(nowMs) : undefined;
    return this.policy.counters.map((counter, index) => {
      const { bucket, window: name } = counter;
      const spent = Number(used[index] ?? 0);
      const limit = at(limits, index);
      const window = at(windows, index);
      const gauge: Gauge = {
        bucket,
        window: name,
        used: spent,
        limit,
        remaining: Math.max(0, limit - spent),
        resetsAt: new Date(window.endsAtMs),
        ...(closedWindow?.window === nameOf(counter) && { closedUntil: new Date(closedWindow.untilMs) }),
      };
      const ceilings = CALL_CLASSES.map(
        (name) => [name, ceilingAt(counter, limit, name, window, nowMs, this.scale.factor)] as const,
      );
      return { gauge, window, ceilings: Object.fromEntries(ceilings) as Record<CallClass, number> };
    });
  }

  /** The server that has the counters: its replication id, which each start and each promotion changes, and its clock. */
  async readServer(): Promise<{ readonly replicationId: string; readonly nowMs: number }> {
    const [replicationId, nowMs] = await readServer.run(this.redis, [this.stateKey], []);
    if (!replicationId) throw new Error('Redis reports no master_replid');
    return { replicationId, nowMs };
  }

  /** The state that Redis' counters were last built for, empty if none, and whether that is `state` with these limits. */
  async builtFor(
    state: string,
    limits: Limits,
  ): Promise<{ readonly found: string; readonly isCurrent: boolean }> {
    const [found, text] = await this.redis.mget([this.stateKey, this.limitsKey]);
    // Redis also has the ends of the open windows, which the ledger lacks.
    if (text) this.cached.adopt(text);
    const builtWith = text?.split(' ').slice(0, this.policy.counters.length).map(Number);
    const isCurrent = found === state && String(builtWith) === String(this.limitsOf(limits));
    return { found: found ?? '', isCurrent };
  }

  /** `notNow` if `nowMs` is too near a window boundary to charge a call. */
  boundaryAt(nowMs: number, windows: Windows = this.cached.windowsAt(nowMs)): NotNow | undefined {
    const chargeableMs = chargeableFromMs(nowMs, windows, this.guardMs);
    return chargeableMs > nowMs ? this.notNow('boundary', chargeableMs - nowMs) : undefined;
  }

  /** `boundaryAt`, but undefined where a call that straddles may be charged. */
  private refusedAt(nowMs: number, straddles: boolean): NotNow | undefined {
    const span = straddles || this.cached.differs ? this.cached.straddledAt(nowMs) : undefined;
    const isChargeable = span && nowMs >= span.fromMs && nowMs < span.untilMs;
    return isChargeable ? undefined : this.boundaryAt(nowMs);
  }

  /** Charges requests of one class and state with one command; Redis grants the first `granted` requests. */
  private async chargeTogether(requests: readonly ChargeRequest[]): Promise<ChargeOutcome[]> {
    const { class: callClass, state, holdsSlot, straddles } = at(requests, 0);
    const slots = holdsSlot ? [this.policy.slots, this.slotMs, ...requests.map(({ id }) => id)] : [];
    for (let tries = 0; tries < MAX_TRIES; tries += 1) {
      const isStraddling = straddles || this.cached.differs;
      const straddled = isStraddling ? this.cached.straddledAt(this.cached.nowMs()) : undefined;
      const windows = straddled ?? this.cached.windowsNow();
      const ceilings = this.cached.ceilingsOf(callClass, windows);
      const neighbours = straddled ? this.cached.neighboursOf(callClass, straddled) : [];
      const keys = [...windows.keys, ...neighbours.map(({ key }) => key)];
      const argsBeyond = neighbours.flatMap(({ ceiling, expiresAtMs: endMs }) => [ceiling, endMs]);
      const assumed = [state, this.cached.text, windows.fromMs, windows.untilMs];
      const askedAtMs = performance.now();
      const [granted, nowMs, ...reason] = await acquire.run(
        this.redis,
        [this.stateKey, this.limitsKey, this.closedKey, this.slotsKey, ...keys],
        [
          ...[...assumed, requests.length, windows.begins, this.longestClosedMs],
          ...[...ceilings.args, ...argsBeyond, ...slots],
        ],
      );
      this.cached.setClock(nowMs, askedAtMs);
      const charged = granted > 0 ? this.windowsCharged(windows, nowMs) : windows.windows;
      const { first, last } = sidesOf(charged, straddled?.neighbours);
      const grant: ChargeOutcome = {
        kind: 'granted',
        keys,
        windows: first,
        recordedIn: last,
        isNearBoundary: neighbours.length > 0,
        nowMs,
      };
      if (granted === requests.length) return requests.map(() => grant);
      const other = this.reasonFor(reason, { ceilings, neighbours, nowMs, straddles });
      if (other) return requests.map((_, index) => (index < granted ? grant : other));
    }
    throw new Error(`the cached limits were stale ${MAX_TRIES} times in a row`);
  }

  /** The windows of a charge at `nowMs`. A new window began at that moment. */
  private windowsCharged({ begins, windows }: CachedWindows, nowMs: number): readonly Window[] {
    if (!begins) return windows;
    this.cached.adopt(begins.replaceAll('now', String(nowMs)));
    return this.cached.windowsAt(nowMs).windows;
  }

  /** The outcome of the requests that were not granted. Undefined if only the cache was stale: then the next try can succeed. */
  private reasonFor(
    [reason, actual]: [Reply[2], Reply[3]],
    asked: Asked,
  ): Exclude<ChargeOutcome, { kind: 'granted' }> | undefined {
    const { nowMs, straddles } = asked;
    switch (reason) {
      case 'lost':
        return { kind: 'lost' };
      case 'slot':
        return this.notNow('slot', SLOT_RETRY_MS);
      case 'closed':
        return this.notNowUntil(this.remember(parseClosedWindow(actual as string)), nowMs);
      case 'full':
        return this.notNowWhileFull(asked, actual as number[]);
      case 'limits':
        this.cached.adopt(actual as string);
        return this.refusedAt(nowMs, straddles);
      case 'empty':
        this.cached.forgetEmpty(actual as number[]);
        return undefined;
      case 'elsewhere':
      case '':
        return this.refusedAt(nowMs, straddles);
    }
  }

  /** `notNow`, with the name of the counter that stays full the longest. */
  private notNowWhileFull(
    { ceilings: { ceilings, windows, fromMs }, neighbours, nowMs }: Asked,
    used: readonly number[],
  ): NotNow {
    const limits = this.limitsNow();
    const opens = this.policy.counters.map((counter, index) => {
      const [spent, limit, window] = [at(used, index), at(limits, index), at(windows.windows, index)];
      if (spent < at(ceilings, index)) return 0;
      const opensMs = opensAtMs(counter, spent, limit, window, fromMs, this.scale.factor);
      return opensMs === window.endsAtMs ? reopensAtMs(window, this.guardMs) : opensMs + this.guardMs;
    });
    const last = Math.max(...opens);
    if (last === 0) {
      // Only a window beyond a boundary is full.
      const full = neighbours.filter(({ ceiling }, n) => at(used, opens.length + n) >= ceiling);
      return this.notNow(
        'boundary',
        Math.max(nowMs, ...full.map(({ untilMs }) => untilMs)) - nowMs + this.guardMs,
      );
    }
    return this.notNow(nameOf(at(this.policy.counters, opens.indexOf(last))), last - nowMs);
  }

  private notNow(window: string, retryAfterMs: number): NotNow {
    return { kind: 'notNow', window, retryAfterMs: Math.ceil(retryAfterMs) };
  }

  limitsNow(): number[] {
    return this.cached.limitsNow();
  }

  private remember(closed: ClosedWindow): ClosedWindow {
    this.lastClosed = laterClosed(this.closedAt(this.cached.nowMs()), closed);
    return closed;
  }

  private get stateKey(): string {
    return this.keyOf('state');
  }

  private get limitsKey(): string {
    return this.keyOf('limits');
  }

  private get closedKey(): string {
    return this.keyOf('closed');
  }

  private get slotsKey(): string {
    return this.keyOf('slots');
  }

  private keyOf(name: string): string {
    return `${this.prefix}${this.policy.vendor}:rate:${name}`;
  }
}

const areAlike = (one: ChargeRequest, other: ChargeRequest) =>
  one.class === other.class &&
  one.holdsSlot === other.holdsSlot &&
  one.straddles === other.straddles &&
  one.state === other.state;

/** For each counter the windows on the two sides of the boundary that is near; the same window twice if none is. */
export function sidesOf(
  windows: readonly Window[],
  neighbours: StraddledWindows['neighbours'] = [],
): { readonly first: readonly Window[]; readonly last: readonly Window[] } {
  const sides = windows.map((window, index) => {
    const neighbour = neighbours[index] ?? window;
    return neighbour.endsAtMs < window.endsAtMs ? [neighbour, window] : [window, neighbour];
  });
  return { first: sides.map(([first]) => first as Window), last: sides.map(([, last]) => last as Window) };
}

/** False if the window is over, if the answer says nothing about it, or if an earlier answer has said the same. */
function isNews(corrected: Window, open: Window | undefined): boolean {
  if (open?.id !== corrected.id || !corrected.isAnswered) return false;
  return !open.isAnswered || open.startsAtMs !== corrected.startsAtMs;
}
