import { type Database, loadSql, type Sql } from '#platform';
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
}

const recordCall = loadSql(import.meta.url, './sql/record-call.sql');
const countCalls = loadSql(import.meta.url, './sql/count-calls.sql');

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
    const { rows } = await sql.query<{ id: string }>(recordCall, values);
    return rows[0]?.id;
  }

  /** By the database's clock, for when Redis cannot say. */
  async nowMs(sql: Sql): Promise<number> {
    const statement = 'select extract(epoch from clock_timestamp())::float8 * 1000 as now_ms';
    const { rows } = await sql.query<{ now_ms: number }>(statement);
    return rows[0]?.now_ms ?? 0;
  }

  async finish(id: string, status: number): Promise<void> {
    await this.database.query('update strava_api_requests set status = $2 where id = $1', [id, status]);
  }

  async forget(id: string): Promise<void> {
    await this.database.query('delete from strava_api_requests where id = $1', [id]);
  }

  async counts(windowId: number, dayId: number, sql: Sql = this.database): Promise<Counts> {
    const { rows } = await sql.query<{ in_window: number; in_day: number }>(countCalls, [windowId, dayId]);
    return { window: rows[0]?.in_window ?? 0, day: rows[0]?.in_day ?? 0 };
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
}
