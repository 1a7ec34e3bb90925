import { Injectable } from '@nestjs/common';
import { Database, loadSql } from '#platform';
import { type NativeVendor } from '../contract/vendor-event.js';
import { type SessionState } from '../normalise/session.js';

const claimComparison = loadSql(import.meta.url, './sql/claim-comparison.sql');
const moveOn = loadSql(import.meta.url, './sql/move-on.sql');
const finishComparison = loadSql(import.meta.url, './sql/finish-comparison.sql');
const heldRecords = loadSql(import.meta.url, './sql/held-records.sql');

/** A comparison under way; by local dates of waking, what is left of it is from `since` to `until`. */
export interface Comparison {
  readonly connection_id: string;
  readonly athlete_id: string;
  readonly vendor_athlete_id: string;
  readonly subject: string;
  readonly claimed_at: Date;
  /** To the microsecond, as text. */
  readonly connected_at: string;
  readonly begun_at: string;
  /** The first of its connection: all that was before it. */
  readonly is_history: boolean;
  readonly since: string;
  readonly until: string;
}

export interface Held {
  readonly record_id: string;
  readonly revision: number;
  readonly captured_at: Date;
  readonly state: SessionState;
  readonly is_of_dates: boolean;
}

@Injectable()
export class ComparisonStore {
  constructor(private readonly database: Database) {}

  async claim(
    vendor: NativeVendor,
    times: { everyMs: number; leaseMs: number; historyDays: number },
  ): Promise<Comparison | undefined> {
    const values = [vendor, times.everyMs, times.leaseMs, times.historyDays];
    const { rows } = await this.database.query<Comparison>(claimComparison, values);
    return rows[0];
  }

  /** False: another has, or the connection is gone. */
  async moveOn(
    { connection_id, until, begun_at }: Comparison,
    to: string,
    leaseMs: number,
  ): Promise<boolean> {
    const { count } = await this.database.query(moveOn, [connection_id, until, to, leaseMs, begun_at]);
    return count > 0;
  }

  async finish({ connection_id, until, begun_at }: Comparison): Promise<void> {
    await this.database.query(finishComparison, [connection_id, until, begun_at]);
  }

  async postpone({ connection_id }: Comparison, ms: number): Promise<void> {
    await this.database.query(
      `update sleep_comparison
       set next_at = clock_timestamp() + $2 * interval '1 millisecond'
       where connection_id = $1`,
      [connection_id, ms],
    );
  }

  async held(
    userId: string,
    vendor: NativeVendor,
    ids: readonly string[],
    from: string,
    to: string,
  ): Promise<Held[]> {
    return (await this.database.query<Held>(heldRecords, [userId, vendor, ids, from, to])).rows;
  }
}
