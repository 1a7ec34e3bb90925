import { Injectable } from '@nestjs/common';
import { type Provider } from '#connections';
import { Database, loadSql, NotFound, type Sql } from '#platform';

const openReceipt = loadSql(import.meta.url, './sql/open-receipt.sql');
const claimReceipt = loadSql(import.meta.url, './sql/claim-receipt.sql');

export interface Deletion {
  readonly id: string;
  readonly athlete_id: string;
  readonly provider: Provider | null;
  readonly reason: 'requested' | 'deauthorized';
  readonly accounts: Readonly<Record<string, string>>;
  readonly deleted: Readonly<Record<string, number>>;
  readonly requested_at: Date;
}

export interface ReceiptView {
  readonly id: string;
  readonly what: 'account' | Provider;
  readonly reason: string;
  readonly status: 'pending' | 'completed';
  readonly requested_at: Date;
  readonly completed_at: Date | null;
  readonly deleted: Readonly<Record<string, number>>;
}

/** The deletions asked for: first a promise, then the proof. */
@Injectable()
export class Receipts {
  constructor(private readonly database: Database) {}

  /** The one that is open already, if there is one: asking twice deletes once. */
  async open(athleteId: string, provider: Provider | null, reason: Deletion['reason']): Promise<string> {
    const values = [athleteId, provider, reason, null];
    const { rows } = await this.database.query<{ id: string }>(openReceipt, values);
    return (rows[0] as { id: string }).id;
  }

  /** None where the athlete's connection is not the one that was made then. */
  async openForConnection(
    athleteId: string,
    provider: Provider,
    connectedAt: string,
  ): Promise<string | undefined> {
    const values = [athleteId, provider, 'deauthorized', connectedAt];
    const { rows } = await this.database.query<{ id: string }>(openReceipt, values);
    return rows[0]?.id;
  }

  async isOpen(athleteId: string, provider: Provider): Promise<boolean> {
    const statement = `
      select 1
      from receipt
      where athlete_id = $1 and coalesce(provider, $2) = $2 and completed_at is null`;
    const { count } = await this.database.query(statement, [athleteId, provider]);
    return count > 0;
  }

  async find(id: string): Promise<ReceiptView> {
    const statement = `
      select
        id, coalesce(provider, 'account') as what, reason, requested_at, completed_at, deleted,
        case when completed_at is null then 'pending' else 'completed' end as status
      from receipt
      where id = $1`;
    const { rows } = await this.database.query<ReceiptView>(statement, [id]);
    if (!rows[0]) throw new NotFound('No such receipt');
    return rows[0];
  }

  async claim(leaseMs: number): Promise<Deletion | undefined> {
    const { rows } = await this.database.query<Deletion>(claimReceipt, [leaseMs]);
    return rows[0];
  }

  /** In the transaction of the deletion, so that the counts are right whenever a worker dies. */
  async count(sql: Sql, id: string, name: string, deleted: number, leaseMs: number): Promise<void> {
    const statement = `
      update receipt
      set
        deleted = jsonb_set(deleted, array[$2], to_jsonb(coalesce((deleted ->> $2)::int, 0) + $3::int)),
        leased_until = clock_timestamp() + $4 * interval '1 millisecond'
      where id = $1`;
    await sql.query(statement, [id, name, deleted, leaseMs]);
  }

  async complete(sql: Sql, id: string): Promise<void> {
    const statement = `update receipt set completed_at = now(), leased_until = null, accounts = '{}' where id = $1`;
    await sql.query(statement, [id]);
  }
}
