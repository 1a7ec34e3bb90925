import { Injectable } from '@nestjs/common';
import { Database, fenceRejected, loadSql, type Sql, type Statement } from '#platform';

const plan = loadSql(import.meta.url, './sql/plan.sql');
const claim = loadSql(import.meta.url, './sql/claim.sql');
const renew = loadSql(import.meta.url, './sql/renew.sql');
const postpone = loadSql(import.meta.url, './sql/postpone.sql');
const finish = loadSql(import.meta.url, './sql/finish.sql');

/** The right to try once. */
export interface Claim {
  readonly activity_id: string;
  readonly fence: string;
  /** This one included. */
  readonly attempts: number;
  readonly title: string;
  readonly description: string;
  readonly athlete_id: string;
  readonly external_activity_id: string;
  readonly imported_name: string | null;
  /** Null: not connected. */
  readonly scopes: readonly string[] | null;
}

export type End = 'written' | 'left' | 'refused';

/** As its athlete sees it. */
export interface WriteBackView {
  readonly status: 'pending' | 'writing' | End;
  readonly reason: string | null;
  readonly finished_at: Date | null;
}

/** The rows, judged by the database's clock. All writes under a claim answer false where it is over. */
@Injectable()
export class WriteBackStore {
  constructor(private readonly database: Database) {}

  async plan(sql: Sql, runIds: readonly string[]): Promise<void> {
    await sql.query(plan, [runIds]);
  }

  async claim(leaseMs: number): Promise<Claim | undefined> {
    const { rows } = await this.database.query<Claim>(claim, [leaseMs]);
    return rows[0];
  }

  renew({ activity_id, fence }: Claim, leaseMs: number): Promise<boolean> {
    return this.isOurs(renew, [activity_id, fence, leaseMs]);
  }

  postpone({ activity_id, fence }: Claim, reason: string, forMs: number, counts: boolean): Promise<boolean> {
    return this.isOurs(postpone, [activity_id, fence, reason, forMs, counts]);
  }

  finish({ activity_id, fence }: Claim, end: End, reason: string | null): Promise<boolean> {
    return this.isOurs(finish, [activity_id, fence, end, reason]);
  }

  /** Of an activity that has been found to be the athlete's. Nothing where nothing is to be written. */
  async find(activityId: string): Promise<WriteBackView | undefined> {
    const statement = 'select status, reason, finished_at from write_back where activity_id = $1';
    return (await this.database.query<WriteBackView>(statement, [activityId])).rows[0];
  }

  private async isOurs(statement: Statement, values: readonly unknown[]): Promise<boolean> {
    const { count } = await this.database.query(statement, values);
    if (count === 0) fenceRejected.inc({ kind: 'write_back' });
    return count > 0;
  }
}
