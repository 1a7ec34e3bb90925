import { Injectable } from '@nestjs/common';
import { Database, type Fenced, loadSql } from '#platform';
import { ReconciliationRows } from '#vendors';
import { type NativeVendor } from '../contract/native-vendor.js';

const claimReconciliation = loadSql(import.meta.url, './sql/claim-reconciliation.sql');

/** The right to reconcile one connection. The local dates of waking from `since` to `until` are still to be compared. */
export interface ReconciliationClaim extends Fenced {
  readonly connection_id: string;
  readonly athlete_id: string;
  readonly vendor_athlete_id: string;
  readonly subject: string;
  readonly claimed_at: Date;
  /** To the microsecond, as text. */
  readonly connected_at: string;
  readonly begun_at: string;
  /** True for the first reconciliation of a connection: it covers the time before the connection. */
  readonly is_history: boolean;
  readonly since: string;
  until: string;
}

/** The rows of the connections whose nights are reconciled. */
@Injectable()
export class ReconciliationStore {
  readonly claims: ReconciliationRows<ReconciliationClaim>;

  constructor(private readonly database: Database) {
    this.claims = new ReconciliationRows(database, {
      kind: 'sleep_reconciliation',
      table: 'sleep_comparison',
      key: ['athlete_id', 'connection_id'],
      dueAt: 'next_at',
    });
  }

  /**
   * Claims the reconciliation that has been due longest; that of a new connection is due at once. Nights older than `retentionDays` are not
   * compared, because the retention would delete them again.
   */
  async claim(
    vendor: NativeVendor,
    times: { leaseMs: number; historyDays: number; retentionDays?: number },
  ): Promise<ReconciliationClaim | undefined> {
    const values = [vendor, times.leaseMs, times.historyDays, times.retentionDays];
    const { rows } = await this.database.query<ReconciliationClaim>(claimReconciliation, values);
    return rows[0];
  }

  /** Records that dates after `until` are done. Throws ClaimLost. */
  async moveOn(claim: ReconciliationClaim, until: string): Promise<void> {
    await this.claims.moveOn(claim, 'until = $1::date', [until]);
    claim.until = until;
  }

  /**
   * The next reconciliation begins `everyMs` after this one began. If the athlete has consented again meanwhile, it begins at once: changes
   * made while the tokens were invalid have not been fetched. False: another worker has the claim, or the connection is gone.
   */
  finish(claim: ReconciliationClaim, everyMs: number): Promise<boolean> {
    const set = `
      compared_at = begun_at, begun_at = null, since = null, until = null,
      next_at = case
        when exists (
          select
          from connection
          where connection.athlete_id = sleep_comparison.athlete_id
            and connection.id = sleep_comparison.connection_id
            and connection.connected_at > sleep_comparison.begun_at
        ) then clock_timestamp()
        else begun_at + $1 * interval '1 millisecond'
      end`;
    return this.claims.end(claim, set, [everyMs]);
  }
}
