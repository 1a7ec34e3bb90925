import { type Database, inBatches, loadSql, type Sql, type Statement } from '#platform';
import { type ClockDifference } from './clock-difference.js';
import { type ClosedWindow } from './closed-window.js';
import { type CallClass } from './policy.js';

interface LedgerEntry {
  readonly userId: string | null;
  readonly endpoint: string;
  readonly class: CallClass;
  readonly windowId: number;
  readonly dayId: number;
}

export interface LedgerCounts {
  readonly window: number;
  readonly day: number;
  /** The window that a 429 closed for the longest time from now. Absent if no window is closed. */
  readonly closed?: ClosedWindow;
}

interface Traffic {
  readonly calls: number;
  /** How many of `calls` the vendor answered with 429. */
  readonly rateLimited: number;
  /** How many of `calls` were made in the window and in the day that were asked for. */
  readonly inWindow: number;
  readonly inDay: number;
}

interface BucketCount {
  readonly at: Date;
  readonly class: CallClass;
  readonly calls: number;
  readonly rate_limited: number;
}

/** Limits that the vendor's answers have reported, by counter name. */
export type Limits = Readonly<Record<string, number>>;

/** The state before a rebuild, read under a lock that prevents other workers from recording calls. */
interface Epoch {
  readonly epoch: number;
  readonly limits: Limits;
  readonly difference: ClockDifference;
}

interface EpochRow extends Omit<Epoch, 'difference'> {
  readonly least_ms: number;
  readonly most_ms: number;
}

interface CountsRow {
  readonly in_window: number;
  readonly in_day: number;
  readonly closed_window: string | null;
  readonly closed_until_ms: number | null;
}

const recordCall = loadSql(import.meta.url, './sql/record-call.sql');
const countCalls = loadSql(import.meta.url, './sql/count-calls.sql');
const learnRedisClock = loadSql(import.meta.url, './sql/learn-redis-clock.sql');
const learnDifference = loadSql(import.meta.url, './sql/learn-difference.sql');
const learnLimits = loadSql(import.meta.url, './sql/learn-limits.sql');
const countTraffic = loadSql(import.meta.url, './sql/count-traffic.sql');
const countBuckets = loadSql(import.meta.url, './sql/count-buckets.sql');
const purgeCalls = loadSql(import.meta.url, './sql/purge-calls.sql');

// A delete of this many rows takes about 10 ms, so other statements do not wait long for the delete's locks.
const PURGE_BATCH = 5_000;

/**
 * Records every call to a vendor in Postgres before the call is sent, so that rebuilt counters include every call. A row does not
 * prove that its call was sent: a process may die after it has written the row. Such a row has no status and counts as a call.
 */
export class Ledger {
  constructor(
    private readonly database: Database,
    private readonly vendor: string,
  ) {}

  /** Returns the row's id. Returns undefined if `epoch` is over: then the call must not be made. */
  async record(entry: LedgerEntry, epoch: number, sql: Sql = this.database): Promise<string | undefined> {
    const { userId, endpoint, class: callClass, windowId, dayId } = entry;
    const values = [userId, endpoint, callClass, windowId, dayId, this.vendor, epoch];
    const { rows } = await sql.query<{ id: string }>(this.inOwnTable(recordCall), values);
    return rows[0]?.id;
  }

  /**
   * Redis' time, computed from the database's clock while Redis is away. The difference of the two clocks is the one that a process learned
   * last.
   */
  async redisNowMs(sql: Sql): Promise<number> {
    const statement = `
      select extract(epoch from clock_timestamp())::float8 * 1000 + redis_ahead_ms as now_ms
      from vendor_budget_epoch
      where vendor = $1`;
    const { rows } = await sql.query<{ now_ms: number }>(statement, [this.vendor]);
    return rows[0]?.now_ms ?? 0;
  }

  /** Keeps the difference between Redis' clock, which says `nowMs`, and the database's. */
  async learnRedisClock(nowMs: number, sql: Sql = this.database): Promise<void> {
    await sql.query(learnRedisClock, [this.vendor, nowMs]);
  }

  /** Records the answer's status. After a 429, also records the window that the 429 closed. */
  async finish(id: string, status: number, closed?: ClosedWindow): Promise<void> {
    const text = `
      update strava_api_requests
      set status = $2, closed_window = $3, closed_until = to_timestamp($4::float8 / 1000)
      where id = $1`;
    await this.database.query(this.inOwnTable({ text }), [id, status, closed?.window, closed?.untilMs]);
  }

  async forget(id: string): Promise<void> {
    await this.database.query(this.inOwnTable({ text: 'delete from strava_api_requests where id = $1' }), [
      id,
    ]);
  }

  /** Counts the calls of all these windows together, and those of all these days together. */
  async counts(
    windowIds: readonly number[],
    dayIds: readonly number[],
    { nowMs, longestClosedMs }: { readonly nowMs: number; readonly longestClosedMs: number },
    sql: Sql,
  ): Promise<LedgerCounts> {
    const values = [windowIds, dayIds, nowMs, longestClosedMs];
    const { rows } = await sql.query<CountsRow>(this.inOwnTable(countCalls), values);
    const [row] = rows;
    if (!row) throw new Error('count-calls.sql returned no row');
    const { in_window: window, in_day: day, closed_window, closed_until_ms: untilMs } = row;
    const closed = closed_window !== null && untilMs !== null && { window: closed_window, untilMs };
    return { window, day, ...(closed && { closed }) };
  }

  /** The ids of the newest window and of the newest day with a call, 0 if there is none. */
  async newestWindows(sql: Sql): Promise<{ readonly window: number; readonly day: number }> {
    const text = `
      select
        coalesce((select max(window_id) from strava_api_requests), 0)::float8 as window,
        coalesce((select max(day_id) from strava_api_requests), 0)::float8 as day`;
    const { rows } = await sql.query<{ window: number; day: number }>(this.inOwnTable({ text }).text);
    return rows[0] ?? { window: 0, day: 0 };
  }

  /** Counts the calls of the last `lastMs`, by the database's clock. */
  async traffic(lastMs: number, windowId: number, dayId: number): Promise<Record<CallClass, Traffic>> {
    interface Row {
      readonly class: CallClass;
      readonly calls: number;
      readonly rate_limited: number;
      readonly in_window: number;
      readonly in_day: number;
    }
    const values = [lastMs / 1_000, windowId, dayId];
    const { rows } = await this.database.query<Row>(this.inOwnTable(countTraffic), values);
    const trafficOf = (name: CallClass): Traffic => {
      const row = rows.find((one) => one.class === name);
      if (!row) return { calls: 0, rateLimited: 0, inWindow: 0, inDay: 0 };
      const { calls, rate_limited: rateLimited, in_window: inWindow, in_day: inDay } = row;
      return { calls, rateLimited, inWindow, inDay };
    };
    return { live: trafficOf('live'), import: trafficOf('import'), backfill: trafficOf('backfill') };
  }

  /** Counts the calls from `fromMs` to `toMs` in buckets, by class. Buckets without a call are left out. */
  async buckets(fromMs: number, toMs: number, bucketMs: number): Promise<BucketCount[]> {
    const values = [new Date(fromMs), new Date(toMs), bucketMs / 1_000];
    const { rows } = await this.database.query<BucketCount>(this.inOwnTable(countBuckets), values);
    return rows;
  }

  /** Deletes calls older than `olderThanMs` in batches; returns how many. */
  purge(olderThanMs: number): Promise<number> {
    return inBatches(PURGE_BATCH, async (limit) => {
      const { count } = await this.database.query(this.inOwnTable(purgeCalls), [olderThanMs / 1_000, limit]);
      return count;
    });
  }

  /**
   * Stores changed limits and begins a new epoch, so that charges made under the old limits cannot be recorded any more. `epoch` is
   * the epoch of the answered call. If that epoch is over, the limits are stored only if they lower a limit or report one for the
   * first time: a late answer must not undo a lower limit that was learned after its call.
   */
  async learn(limits: Limits, epoch: number): Promise<void> {
    await this.database.query(learnLimits, [this.vendor, JSON.stringify(limits), epoch]);
  }

  /** Stores the difference between Redis' clock and the vendor's. A new one begins a new epoch. True if it is new. */
  async learnDifference({ leastMs, mostMs }: ClockDifference): Promise<boolean> {
    const { count } = await this.database.query(learnDifference, [this.vendor, leastMs, mostMs]);
    return count > 0;
  }

  /** Runs `work` in a transaction whose lock prevents other workers from recording calls. */
  async alone<T>(work: (current: Epoch, sql: Sql) => Promise<T>): Promise<T> {
    return this.database.transaction(async (sql) => {
      const statement = `
        select epoch::int as epoch, limits, vendor_difference_least_ms as least_ms, vendor_difference_most_ms as most_ms
        from vendor_budget_epoch
        where vendor = $1
        for update`;
      const { rows } = await sql.query<EpochRow>(statement, [this.vendor]);
      if (!rows[0]) throw new Error(`${this.vendor} has no budget`);
      const { epoch, limits, least_ms: leastMs, most_ms: mostMs } = rows[0];
      return work({ epoch, limits, difference: { leastMs, mostMs } }, sql);
    });
  }

  /** Begins a new epoch. The state in Redis is then obsolete, and the next request for a permit rebuilds the counters. */
  async advance(sql: Sql): Promise<void> {
    await sql.query('update vendor_budget_epoch set epoch = epoch + 1 where vendor = $1', [this.vendor]);
  }

  /** Each vendor has its own table with the same columns. The contract fixes the name of Strava's table. */
  private inOwnTable({ text, name }: Statement): Statement {
    return {
      text: text.replaceAll('strava_api_requests', `${this.vendor}_api_requests`),
      name: name && `${name}:${this.vendor}`,
    };
  }
}
