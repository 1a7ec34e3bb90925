import { type Database, deletePast, type Fenced, FencedRows, prepared, type Statement } from '#platform';

const KEPT_MS = 30 * 86_400_000;

/** The right to carry out an order. */
export interface OrderClaim extends Fenced {
  readonly id: string;
}

/** How an attempt at an order ended. `interrupted`: the process stops. `waiting`: a row is locked by another transaction. */
export interface OrderOutcome {
  readonly kind: 'completed' | 'interrupted' | 'waiting' | 'failed';
  readonly pauses?: boolean;
}

/**
 * The rows of one kind of operators' orders, which a worker carries out one after the other, oldest first. Each write of a claim is fenced.
 * `table` and `columns` become part of statements, so they must be constants.
 */
export abstract class OrderRows<Claim extends OrderClaim> {
  protected readonly rows: FencedRows;
  private readonly claimOldest: Statement;
  private readonly purgePast: Statement;

  constructor(
    protected readonly database: Database,
    private readonly table: string,
    columns: string,
  ) {
    this.rows = new FencedRows(table, table, 'id');
    this.claimOldest = prepared(
      `claim ${table}`,
      `
        -- Takes the oldest open order. While another worker holds this order, no order is taken: a discard and a replay of the same dead
        -- letters must not overlap.
        update ${table}
        set fence = fence + 1, leased_until = lease_end($1)
        where id = (
          select id
          from ${table}
          where completed_at is null
          order by id
          limit 1
        )
          and completed_at is null
          and is_free(leased_until)
        returning id, fence, ${columns}`,
    );
    this.purgePast = prepared(
      `purge ${table}`,
      `
        delete from ${table}
        where id = any(array(
          select id
          from ${table}
          where completed_at < now() - $1::float8 * interval '1 millisecond'
          order by id
          limit $2
        ))`,
    );
  }

  async claim(leaseMs: number): Promise<Claim | undefined> {
    return (await this.database.query<Claim>(this.claimOldest, [leaseMs])).rows[0];
  }

  /** False: another worker has the order. */
  renew(claim: Claim, leaseMs: number): Promise<boolean> {
    return this.rows.renew(this.database, claim.id, claim, leaseMs);
  }

  /** Completes the order, or lets any worker continue it. False as for `renew`. */
  settle(claim: Claim, { kind }: OrderOutcome): Promise<boolean> {
    return kind === 'completed' ? this.complete(claim) : this.release(claim);
  }

  async release({ id, fence }: OrderClaim): Promise<boolean> {
    const statement = `update ${this.table} set leased_until = null where id = $1 and fence = $2`;
    return this.rows.accepted(await this.database.query(statement, [id, fence]));
  }

  async complete({ id, fence }: OrderClaim): Promise<boolean> {
    const statement = `
      update ${this.table}
      set completed_at = clock_timestamp(), leased_until = null
      where id = $1 and fence = $2`;
    return this.rows.accepted(await this.database.query(statement, [id, fence]));
  }

  /** Deletes orders that were completed more than 30 days ago. Returns how many. */
  purge(): Promise<number> {
    return deletePast(this.database, this.purgePast, KEPT_MS);
  }
}
