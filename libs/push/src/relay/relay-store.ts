import { Injectable } from '@nestjs/common';
import { Database, type Fenced, FencedRows, loadSql, prepared } from '#platform';
import { CHANGE_COLUMNS, type Change } from '../change.js';

const claimRelay = loadSql(import.meta.url, './sql/claim-relay.sql');
const storePublished = loadSql(import.meta.url, './sql/store-published.sql');
const findPublished = loadSql(import.meta.url, './sql/find-published.sql');
const nextChanges = prepared(
  'changes to publish',
  `select ${CHANGE_COLUMNS}, published_as from change where seq > $1 order by seq limit $2`,
);

/** The right to publish the log. */
export interface RelayClaim extends Fenced {
  readonly published_seq: string;
  readonly stream_seq: string;
  /** The last holder did not settle, so it may have published changes without storing their sequences. */
  readonly needs_recovery: boolean;
}

export interface ToPublish extends Change {
  /** Not null: the message is in the stream already. */
  readonly published_as: string | null;
}

/** A published change: its place in the log, and the sequence of its message. */
export interface Published {
  readonly seq: string;
  readonly streamSeq: number;
}

/** How far the log is published: the row `change_relay`. */
@Injectable()
export class RelayStore {
  private readonly rows = new FencedRows('change_relay', 'change_relay', 'is_only');

  constructor(private readonly database: Database) {}

  async claim(leaseMs: number): Promise<RelayClaim | undefined> {
    return (await this.database.query<RelayClaim>(claimRelay, [leaseMs])).rows[0];
  }

  renew(claim: RelayClaim, leaseMs: number): Promise<boolean> {
    return this.rows.renew(this.database, 'true', claim, leaseMs);
  }

  async next(after: string, limit: number): Promise<readonly ToPublish[]> {
    return (await this.database.query<ToPublish>(nextChanges, [after, limit])).rows;
  }

  /** Stores where the messages of the changes up to `upTo` are. Throws ClaimLost. */
  store({ fence }: Fenced, upTo: string, published: readonly Published[]): Promise<void> {
    const streamSeqs = published.map(({ streamSeq }) => streamSeq);
    return this.database.transaction(async (sql) => {
      await sql.query(storePublished, [published.map(({ seq }) => seq), streamSeqs]);
      const statement = `
        update change_relay
        set published_seq = $2, stream_seq = coalesce($3, stream_seq)
        where fence = $1`;
      const newest = streamSeqs.length > 0 ? Math.max(...streamSeqs) : null;
      this.rows.require(await sql.query(statement, [fence, upTo, newest]));
    });
  }

  /**
   * Stores where the messages of these changes are, by their ids. They are among the `within` changes after `published_seq`. Throws
   * ClaimLost.
   */
  async storeFound(
    { published_seq, fence }: RelayClaim,
    found: ReadonlyMap<string, number>,
    within: number,
  ): Promise<void> {
    const values = [[...found.keys()], [...found.values()], published_seq, within, fence];
    this.rows.require(await this.database.query(findPublished, values));
  }

  /** Ends the lease. False: another worker has the relay. */
  async settle({ fence }: RelayClaim, needsRecovery: boolean): Promise<boolean> {
    const statement = 'update change_relay set leased_until = null, needs_recovery = $2 where fence = $1';
    return this.rows.accepted(await this.database.query(statement, [fence, needsRecovery]));
  }
}
