import { Injectable } from '@nestjs/common';
import { Database, type Sql } from '../database/database.js';
import { loadSql } from '../database/load-sql.js';

export const CHANGE_TYPES = [
  'athlete.deleted',
  'connection.active',
  'connection.needs_reauth',
  'connection.removed',
  'import.completed',
  'import.failed',
  'import.rate_limited',
  'activity.created',
  'activity.updated',
  'activity.deleted',
  'streams.ready',
  'streams.unavailable',
  'streams.failed',
  'activity.processed',
  'sleep.stored',
  'sleep.removed',
] as const;

export type ChangeType = (typeof CHANGE_TYPES)[number];

interface NewChange {
  readonly type: ChangeType;
  readonly athleteId: string;
  readonly subjectId: string;
  /** The item as the API answers it. */
  readonly data: object;
}

const sequence = loadSql(import.meta.url, './sql/sequence.sql');

// A transaction of this many rows takes some 50 ms. A longer one would delay the readers who wait for its first change.
const AT_ONCE = 1_000;

/**
 * The log of all changes that clients can see, in the order in which they were committed. Triggers write each change to the outbox in the
 * transaction that makes it; `sequence` moves committed changes to the log. A transaction that stays open delays only its own changes.
 *
 * Not guaranteed: the order of changes of different subjects. Changes of one subject are in the order of their revisions.
 */
@Injectable()
export class Changes {
  constructor(private readonly database: Database) {}

  /** Writes a change that no trigger writes. The transaction must hold the lock of the subject's row, so that revisions grow. */
  async record(sql: Sql, { type, athleteId, subjectId, data }: NewChange): Promise<void> {
    await sql.query(
      'insert into change_outbox (type, athlete_id, subject_id, data) values ($1, $2, $3, $4)',
      [type, athleteId, subjectId, JSON.stringify(data)],
    );
  }

  /**
   * Gives every committed change its place in the log. Returns how many. While another process does this, returns 0, and that process moves
   * the changes. A request that must be answered soon names the number of batches of 1,000.
   */
  async sequence(batches = Infinity): Promise<number> {
    let moved = 0;
    for (let batch = 0; batch < batches; batch += 1) {
      const some = await this.sequenceSome();
      moved += some;
      if (some < AT_ONCE) break;
    }
    return moved;
  }

  private async sequenceSome(): Promise<number> {
    const { count: waiting } = await this.database.query('select from change_outbox limit 1');
    if (waiting === 0) return 0;
    return this.database.transaction(async (sql) => {
      const { count: isOurTurn } = await sql.query('select from change_feed for update skip locked');
      if (!isOurTurn) return 0;
      const { rows } = await sql.query<{ moved: number }>(sequence, [AT_ONCE]);
      return rows[0]?.moved ?? 0;
    });
  }
}

/** From here on, the triggers announce no deleted row of this transaction: `connection.removed` or `athlete.deleted` stands for all of them. */
export async function beginUnannouncedDeletion(sql: Sql, of: 'vendor' | 'account'): Promise<void> {
  await sql.query("select set_config('pacekeeper.deletion', $1, true)", [of]);
}

/** Records `connection.removed` in the transaction that deletes the last rows of a vendor. The caller holds the lock of the athlete's row. */
export async function announceRemovedConnection(
  sql: Sql,
  athleteId: string,
  provider: string,
): Promise<void> {
  // An athlete who is gone has `athlete.deleted` as the last change.
  await sql.query(
    `insert into change_outbox (type, athlete_id, subject_id)
     select 'connection.removed', id, $2
     from athlete
     where id = $1`,
    [athleteId, provider],
  );
}
