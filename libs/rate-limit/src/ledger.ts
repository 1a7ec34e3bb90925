import { type Database, loadSql, type Sql, type Statement } from '#platform';
import { type Closure } from './closure.js';
import { type CallClass } from './policy.js';

export interface LedgerEntry {
  readonly userId: string | null;
  readonly endpoint: string;
  readonly class: CallClass;
  readonly windowId: number;
  readonly dayId: number;
}

export interface Counts {
  readonly window: number;
  readonly day: number;
  /** What a 429 has closed for the longest, if it is closed still. */
  readonly closure?: Closure;
}

export interface Traffic {
  readonly calls: number;
  /** Of those, answered 429. */
  readonly rateLimited: number;
}

interface CountsRow {
  readonly in_window: number;
  readonly in_day: number;
  readonly closed_window: string | null;
  readonly closed_until_ms: number | null;
}

const recordCall = loadSql(import.meta.url, './sql/record-call.sql');
const countCalls = loadSql(import.meta.url, './sql/count-calls.sql');
const countTraffic = loadSql(import.meta.url, './sql/count-traffic.sql');
const purgeCalls = loadSql(import.meta.url, './sql/purge-calls.sql');

// A statement this long is over in some ten milliseconds and holds nobody up.
const PURGED_AT_ONCE = 5_000;

/** What was sent, in Postgres: written before the call, so that a counter rebuilt from it misses nothing. */
export class Ledger {
  constructor(
    private readonly database: Database,
    private readonly vendor: string,
  ) {}

  /** The row's id; nothing where the budget has been rebuilt since that epoch, and the call must not be made. */
  async record(entry: LedgerEntry, epoch: number, sql: Sql = this.database): Promise<string | undefined> {
    const { userId, endpoint, class: callClass, windowId, dayId } = entry;
    const values = [userId, endpoint, callClass, windowId, dayId, this.vendor, epoch];
    const { rows } = await sql.query<{ id: string }>(this.of(recordCall), values);
    return rows[0]?.id;
  }

  /** By the database's clock, for when Redis cannot say. */
  async nowMs(sql: Sql): Promise<number> {
    const statement = 'select extract(epoch from clock_timestamp())::float8 * 1000 as now_ms';
    const { rows } = await sql.query<{ now_ms: number }>(statement);
    return rows[0]?.now_ms ?? 0;
  }

  /** `closure`: what it has closed, where it was answered 429. */
  async finish(id: string, status: number, closure?: Closure): Promise<void> {
    const text = `
      update strava_api_requests
      set status = $2, closed_window = $3, closed_until = to_timestamp($4::float8 / 1000)
      where id = $1`;
    await this.database.query(this.of({ text }), [id, status, closure?.window, closure?.untilMs]);
  }

  async forget(id: string): Promise<void> {
    await this.database.query(this.of({ text: 'delete from strava_api_requests where id = $1' }), [id]);
  }

  async counts(windowId: number, dayId: number, nowMs: number, sql: Sql): Promise<Counts> {
    const { rows } = await sql.query<CountsRow>(this.of(countCalls), [windowId, dayId, nowMs]);
    const [row] = rows;
    if (!row) throw new Error('count-calls.sql answers one row');
    const { in_window: window, in_day: day, closed_window, closed_until_ms: untilMs } = row;
    const closure = closed_window !== null && untilMs !== null && { window: closed_window, untilMs };
    return { window, day, ...(closure && { closure }) };
  }

  /** The calls of the last so many milliseconds, by the database's clock. */
  async traffic(lastMs: number): Promise<Record<CallClass, Traffic>> {
    const { rows } = await this.database.query<{ class: CallClass; calls: number; rate_limited: number }>(
      this.of(countTraffic),
      [lastMs / 1_000],
    );
    const of = (name: CallClass): Traffic => {
      const row = rows.find((one) => one.class === name);
      return { calls: row?.calls ?? 0, rateLimited: row?.rate_limited ?? 0 };
    };
    return { live: of('live'), import: of('import'), backfill: of('backfill') };
  }

  /** Deletes what is older, batch by batch; answers how many calls that were. */
  async purge(olderThanMs: number): Promise<number> {
    let purged = 0;
    for (;;) {
      const { count } = await this.database.query(this.of(purgeCalls), [olderThanMs / 1_000, PURGED_AT_ONCE]);
      purged += count;
      if (count < PURGED_AT_ONCE) return purged;
    }
  }

  /** Runs `work` while nobody can record a call; answers what the epoch was when it began. */
  async alone<T>(work: (epoch: number, sql: Sql) => Promise<T>): Promise<T> {
    return this.database.transaction(async (sql) => {
      const statement = 'select epoch::int as epoch from vendor_budget_epoch where vendor = $1 for update';
      const { rows } = await sql.query<{ epoch: number }>(statement, [this.vendor]);
      if (!rows[0]) throw new Error(`${this.vendor} has no budget`);
      return work(rows[0].epoch, sql);
    });
  }

  /** Makes every state in Redis obsolete: whoever asks there next rebuilds it first. */
  async advance(sql: Sql): Promise<void> {
    await sql.query('update vendor_budget_epoch set epoch = epoch + 1 where vendor = $1', [this.vendor]);
  }

  /** Each vendor's calls are in a table of their own, all of one shape; that of Strava has its name by contract. */
  private of({ text, name }: Statement): Statement {
    return {
      text: text.replaceAll('strava_api_requests', `${this.vendor}_api_requests`),
      name: name && `${name}:${this.vendor}`,
    };
  }
}
