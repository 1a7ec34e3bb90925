import { Inject, Injectable } from '@nestjs/common';
import { Database, type Fenced, loadSql, prepared, type Sql, TIME_SCALE, type TimeScale } from '#platform';
import { type ActivitySource, ReconciliationRows, type VendorId } from '#vendors';
import { type ActivityOwner } from '../activity-store.js';
import { type ListPosition } from '../list-position.js';

const claimReconciliation = loadSql(import.meta.url, './sql/claim-reconciliation.sql');
const missingFromList = prepared(
  'activities missing from the list',
  `
    -- Activities of a range ($2) that we have and the vendor's list lacks: no page since the reconciliation began ($3) named them.
    -- Activities that could not be confirmed lately wait for their pause to end.
    select external_activity_id
    from activity
    where athlete_id = $1
      and provider = $5
      and external_activity_id is not null
      and start_time >= coalesce($2, '-infinity'::timestamptz)
      -- The list began at this time ($6).
      and start_time < $6
      and asked_at < $3
      and (confirm_after is null or confirm_after <= clock_timestamp())
    order by start_time desc
    limit $4`,
);

const DAY_MS = 86_400_000;
const RECENT_EVERY_MS = DAY_MS;
const WHOLE_EVERY_MS = 7 * DAY_MS;
const MOST_MISSING = 50;
const CONFIRM_PAUSE_MS = DAY_MS;
const MOST_DOUBLINGS = 5;
// A device with a wrong clock may record activities in the future.
const AHEAD_S = 2 * 86_400;

/** The right to reconcile one athlete's history. */
export interface HistoryClaim extends Fenced {
  readonly athlete_id: string;
  readonly provider: VendorId;
  readonly is_whole: boolean;
  /** The scopes that the athlete granted. */
  readonly scopes: readonly string[];
  /** The athlete's last consent. */
  readonly connected_at: Date;
  readonly progress: HistoryProgress | null;
  readonly claimed_at: Date;
}

/** Progress of a reconciliation. It is stored in the transaction of each page's rows, so that no page is requested twice. */
export interface HistoryProgress {
  /** By the database's clock. */
  readonly begun_at: string;
  readonly is_whole: boolean;
  /** The `before` of the list position; null once the whole range is listed. */
  readonly before: number | null;
  /** Absent in a reconciliation that began before this field existed. */
  readonly page?: number;
}

/**
 * The rows of histories that are reconciled: claim, progress, and the pauses of activities that cannot be confirmed.
 *
 * | activity not confirmed | 1     | 2      | 3      | 4       | 5       | 6 and more |
 * | ---------------------- | ----- | ------ | ------ | ------- | ------- | ---------- |
 * | pause                  | a day | 2 days | 4 days | 8 days  | 16 days | 32 days    |
 * | since the first        | a day | 3 days | 7 days | 15 days | 31 days |            |
 */
@Injectable()
export class HistoryRows {
  readonly claims: ReconciliationRows<HistoryClaim>;

  constructor(
    private readonly database: Database,
    @Inject(TIME_SCALE) private readonly scale: TimeScale,
  ) {
    this.claims = new ReconciliationRows(database, {
      kind: 'activity_reconciliation',
      table: 'activity_sync',
      key: ['athlete_id', 'provider'],
      dueAt: 'reconcile_after',
    });
  }

  async claim(
    provider: VendorId,
    events: ActivitySource['events'],
    leaseMs: number,
  ): Promise<HistoryClaim | undefined> {
    const { wait } = this.scale;
    const values = [wait(RECENT_EVERY_MS), wait(WHOLE_EVERY_MS), leaseMs, provider, events === 'each change'];
    const { rows } = await this.database.query<HistoryClaim>(claimReconciliation, values);
    return rows[0];
  }

  beginning({ claimed_at, is_whole }: HistoryClaim): HistoryProgress {
    const begun_at = claimed_at.toISOString();
    return { begun_at, is_whole, before: firstBefore(begun_at), page: 1 };
  }

  /** Stores the position after a page. Returns the progress. Throws ClaimLost. */
  async moveOn(
    sql: Sql,
    claim: HistoryClaim,
    at: HistoryProgress,
    next: ListPosition | undefined,
  ): Promise<HistoryProgress> {
    const progress = { ...at, before: next?.before ?? null, page: next?.page ?? 1 };
    await this.claims.moveOn(claim, 'reconcile_progress = $1', [JSON.stringify(progress)], sql);
    return progress;
  }

  async missing(
    { athleteId, provider }: ActivityOwner,
    since: Date | null,
    { begun_at }: HistoryProgress,
  ): Promise<string[]> {
    const until = new Date(firstBefore(begun_at) * 1_000);
    const values = [athleteId, since, begun_at, MOST_MISSING, provider, until];
    const { rows } = await this.database.query<{ external_activity_id: string }>(missingFromList, values);
    return rows.map(({ external_activity_id }) => external_activity_id);
  }

  /** Postpones the activity, so that other activities are confirmed first. Throws ClaimLost. */
  async unconfirmed(claim: HistoryClaim, externalId: string): Promise<void> {
    const statement = `
      update activity
      set
        confirm_attempts = confirm_attempts + 1,
        confirm_after = clock_timestamp()
          + $3 * power(2, least(confirm_attempts, $4)) * interval '1 millisecond'
      where athlete_id = $1 and provider = $5 and external_activity_id = $2`;
    const { athlete_id, provider } = claim;
    const values = [athlete_id, externalId, this.scale.wait(CONFIRM_PAUSE_MS), MOST_DOUBLINGS, provider];
    await this.database.transaction(async (sql) => {
      await this.claims.require(sql, claim);
      await sql.query(statement, values);
    });
  }

  /**
   * The next reconciliation is due a day after the end of this one. A day after its beginning would be too soon: a reconciliation may take longer
   * than a day. False: another worker has the claim.
   */
  finish(claim: HistoryClaim, { is_whole }: HistoryProgress): Promise<boolean> {
    const set = `
      reconciled_at = clock_timestamp(),
      whole_history_reconciled_at = case when $1 then clock_timestamp() else whole_history_reconciled_at end,
      reconcile_after = null,
      reconcile_progress = null`;
    return this.claims.end(claim, set, [is_whole]);
  }
}

/** The position at which a reconciliation's list begins. Later activities are not listed, so they must not count as missing. */
function firstBefore(begunAt: string): number {
  return Math.ceil(Date.parse(begunAt) / 1_000) + AHEAD_S;
}
