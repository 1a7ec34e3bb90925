import { Injectable } from '@nestjs/common';
import { Database, inBatches, loadSql } from '#platform';
import { type VendorId } from '#vendors';
import { FETCH_STATUSES, type FetchStatus } from '../lifecycle/stream-fetches.js';
import { MOST_ATTEMPTS } from '../lifecycle/retry-policy.js';

const countTotal = loadSql(import.meta.url, './sql/count-total.sql');
const countByAthlete = loadSql(import.meta.url, './sql/count-by-athlete.sql');
const countOfAthletes = loadSql(import.meta.url, './sql/count-of-athletes.sql');
const countLeft = loadSql(import.meta.url, './sql/count-left.sql');
const foldChanges = loadSql(import.meta.url, './sql/fold-changes.sql');

// Two processes that fold at once would wait for each other's locks.
const LOCK = 'select pg_try_advisory_xact_lock(7263028) as is_ours';
const DROP_EMPTY = `
  delete from stream_count_athlete
  where athlete_id = any ($1::uuid[])
    and waiting = 0
    and success + unavailable = 0`;
const DROP_NOTHING_LEFT = 'delete from stream_count_left where athlete_id = any ($1::uuid[]) and calls = 0';
const FOLDED_AT_ONCE = 10_000;

export type StreamCountByStatus = Readonly<Record<FetchStatus, number>>;

export interface StreamOverview {
  readonly byStatus: StreamCountByStatus;
  /** Failed activities by number of failures. */
  readonly byRetries: ReadonlyMap<number, number>;
  /** Activities that only a reset makes due again. */
  readonly stuck: number;
}

interface AthleteCount extends StreamCountByStatus {
  readonly athlete_id: string;
}

/** Calls that an athlete's streams at a vendor still take. */
interface StreamsLeft {
  readonly calls: number;
  /** The last deferred activity is not fetched before this time. */
  readonly notBefore: Date | null;
}

interface Counted {
  readonly status: FetchStatus;
  readonly retries: number;
  readonly activities: number;
}

/**
 * Counts activities by the state of their streams. Triggers on `activity` keep the counts (migrations 0022 and 0026), so no query reads
 * all activities. The time of `byAthlete` grows with `most`; the time of `callsLeft` grows with the number of athletes.
 */
@Injectable()
export class StreamCounts {
  constructor(private readonly database: Database) {}

  async overview(): Promise<StreamOverview> {
    const { rows } = await this.database.query<Counted>(countTotal);
    const byStatus = zeroes();
    for (const { status, activities } of rows) byStatus[status] += activities;
    const failed = rows.filter(({ status }) => status === 'failed');
    const byRetries = new Map(failed.map(({ retries, activities }) => [retries, activities]));
    const stuck = failed.reduce((sum, row) => (row.retries >= MOST_ATTEMPTS ? sum + row.activities : sum), 0);
    return { byStatus, byRetries, stuck };
  }

  /** Returns at most `most` athletes. The athlete with the most waiting activities comes first. */
  async byAthlete(most: number): Promise<readonly AthleteCount[]> {
    const { rows } = await this.database.query<AthleteCount>(countByAthlete, [most]);
    return rows;
  }

  /** Only of these athletes; an athlete without activities may be missing. */
  async ofAthletes(ids: readonly string[]): Promise<ReadonlyMap<string, StreamCountByStatus>> {
    const { rows } = await this.database.query<AthleteCount>(countOfAthletes, [ids]);
    return new Map(rows.map(({ athlete_id, ...counts }) => [athlete_id, counts]));
  }

  /** By athlete, for those connected to the vendor. */
  async callsLeft(provider: VendorId): Promise<ReadonlyMap<string, StreamsLeft>> {
    type Row = { athlete_id: string; calls: number; not_before: Date | null };
    const { rows } = await this.database.query<Row>(countLeft, [MOST_ATTEMPTS, provider]);
    return new Map(
      rows.map(({ athlete_id, calls, not_before }) => [athlete_id, { calls, notBefore: not_before }]),
    );
  }

  /** Adds change rows to the sums and returns the number of rows. Without folding, counting stays exact but becomes slow. */
  async fold(): Promise<number> {
    return inBatches(FOLDED_AT_ONCE, (limit) => this.foldSome(limit));
  }

  private foldSome(limit: number): Promise<number> {
    return this.database.transaction(async (sql) => {
      const { rows: locked } = await sql.query<{ is_ours: boolean }>(LOCK);
      if (!locked[0]?.is_ours) return 0;
      const { rows } = await sql.query<{ athlete_id: string }>(foldChanges, [MOST_ATTEMPTS, limit]);
      const athletes = rows.map(({ athlete_id }) => athlete_id);
      if (rows.length > 0)
        for (const statement of [DROP_EMPTY, DROP_NOTHING_LEFT]) await sql.query(statement, [athletes]);
      return rows.length;
    });
  }
}

function zeroes(): Record<FetchStatus, number> {
  return Object.fromEntries(FETCH_STATUSES.map((status) => [status, 0])) as Record<FetchStatus, number>;
}
