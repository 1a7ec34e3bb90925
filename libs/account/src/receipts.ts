import { Injectable } from '@nestjs/common';
import { type Provider } from '#connections';
import {
  cursorAt,
  Database,
  deletePast,
  type Fenced,
  FencedRows,
  keysetOf,
  loadSql,
  NotFound,
  type Sql,
} from '#platform';
import { type Departure } from './personal-records.js';

const openReceipt = loadSql(import.meta.url, './sql/open-receipt.sql');
const claimReceipt = loadSql(import.meta.url, './sql/claim-receipt.sql');
const purgeReceipts = loadSql(import.meta.url, './sql/purge-receipts.sql');
const claimDepartures = loadSql(import.meta.url, './sql/claim-departures.sql');

/** The right to delete the rows of a receipt. */
export interface Deletion extends Fenced {
  readonly id: string;
  readonly athlete_id: string;
  readonly provider: Provider | null;
  readonly reason: 'requested' | 'deauthorized';
  readonly accounts: Readonly<Record<string, string>>;
  readonly deleted: Readonly<Record<string, number>>;
  readonly requested_at: Date;
}

/** The right to erase the data of a deletion outside of Postgres. */
export type DepartureClaim = Departure & Fenced;

interface ReceiptView {
  readonly id: string;
  readonly what: 'account' | Provider;
  readonly reason: string;
  readonly status: 'pending' | 'completed';
  readonly requested_at: Date;
  readonly completed_at: Date | null;
  /** From this time on, only the receipt names the person. */
  readonly until: Date | null;
  readonly deleted: Readonly<Record<string, number>>;
}

interface ReceiptFilter {
  readonly cursor?: string;
  readonly limit: number;
  readonly athleteId?: string;
}

const VIEW = `
  id, coalesce(provider, 'account') as what, reason, requested_at, completed_at, until, deleted,
  case when completed_at is null then 'pending' else 'completed' end as status`;

// Claims of several receipts at once: each row of $1 and $2 is a claim.
const CLAIMED = `(id, fence) in (select * from unnest($1::uuid[], $2::bigint[]))`;

/**
 * The rows of receipts. A receipt is first the request for a deletion, and then the proof of the deletion. Each write of a claim is
 * fenced.
 */
@Injectable()
export class Receipts {
  private readonly rows = new FencedRows('deletion', 'receipt', 'id');

  constructor(private readonly database: Database) {}

  /**
   * Opens a receipt for the account and returns its id. If a receipt is already open, returns the id of that receipt, so that a second
   * request deletes nothing more.
   */
  async open(athleteId: string): Promise<string> {
    const values = [athleteId, null, 'requested', null];
    const { rows } = await this.database.query<{ id: string }>(openReceipt, values);
    return (rows[0] as { id: string }).id;
  }

  /**
   * Opens a receipt for the data of a connection and returns its id, like `open`. Undefined if the athlete is not connected, or if
   * `connectedAt` is given and the connection was made at another time.
   */
  async openForConnection(
    sql: Sql,
    athleteId: string,
    provider: Provider,
    reason: Deletion['reason'],
    connectedAt?: string,
  ): Promise<string | undefined> {
    const values = [athleteId, provider, reason, connectedAt];
    const { rows } = await sql.query<{ id: string }>(openReceipt, values);
    return rows[0]?.id;
  }

  /**
   * Returns the receipt of the account with one of these ids, if the account was deleted less than `withinMs` ago and does not exist again.
   */
  async ofDeparted(athleteIds: readonly string[], withinMs: number): Promise<string | undefined> {
    const statement = `
      select id
      from receipt
      where athlete_id = any($1::uuid[])
        and provider is null
        and rows_deleted_at > clock_timestamp() - $2 * interval '1 millisecond'
        and not exists (select from athlete where athlete.id = any($1::uuid[]))
      order by rows_deleted_at desc
      limit 1`;
    const { rows } = await this.database.query<{ id: string }>(statement, [athleteIds, withinMs]);
    return rows[0]?.id;
  }

  async isOpen(athleteId: string, provider: Provider): Promise<boolean> {
    const statement = `
      select 1
      from receipt
      where athlete_id = $1 and coalesce(provider, $2) = $2 and rows_deleted_at is null and completed_at is null`;
    const { count } = await this.database.query(statement, [athleteId, provider]);
    return count > 0;
  }

  async find(id: string): Promise<ReceiptView> {
    const statement = `select ${VIEW} from receipt where id = $1`;
    const { rows } = await this.database.query<ReceiptView>(statement, [id]);
    if (!rows[0]) throw new NotFound('No such receipt');
    return rows[0];
  }

  /** Receipts of all athletes for operators, newest first. */
  async page({ cursor, limit, athleteId }: ReceiptFilter): Promise<{
    readonly items: ReadonlyArray<ReceiptView & { readonly athlete_id: string }>;
    readonly next_cursor: string | null;
  }> {
    const after = cursor === undefined ? undefined : keysetOf(cursor);
    const statement = `
      select
        athlete_id, ${VIEW}, to_char(requested_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as place
      from receipt
      where (requested_at, id) < (
        coalesce($1, 'infinity'::timestamptz), coalesce($2, 'ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid)
      )
        ${athleteId === undefined ? '' : 'and athlete_id = $4'}
      order by requested_at desc, id desc
      limit $3`;
    const values = [after?.place, after?.id, limit + 1, ...(athleteId === undefined ? [] : [athleteId])];
    type Row = ReceiptView & { readonly athlete_id: string; readonly place: string };
    const { rows } = await this.database.query<Row>(statement, values);
    const last = rows[limit - 1];
    return {
      items: rows.slice(0, limit).map(({ place: _place, ...receipt }) => receipt),
      next_cursor: rows.length > limit && last ? cursorAt(last) : null,
    };
  }

  async claim(leaseMs: number): Promise<Deletion | undefined> {
    const { rows } = await this.database.query<Deletion>(claimReceipt, [leaseMs]);
    return rows[0];
  }

  /** False: another worker carries out the deletion. */
  renew(claim: Deletion, leaseMs: number): Promise<boolean> {
    return this.rows.renew(this.database, claim.id, claim, leaseMs);
  }

  /** Throws ClaimLost if another worker has claimed the deletion. Otherwise none can claim it before the transaction ends. */
  async assertHeld(sql: Sql, { id, fence }: Deletion): Promise<void> {
    const statement = 'select from receipt where id = $1 and fence = $2 for share';
    this.rows.require(await sql.query(statement, [id, fence]));
  }

  /** Runs in the transaction of the deletion, so that the counts are right if a worker dies. Throws ClaimLost. */
  async countRows(sql: Sql, claim: Deletion, name: string, deleted: number): Promise<void> {
    this.rows.require(await this.count(sql, claim, name, deleted));
  }

  /** `goneAt` is the time of the deletion. Data that came in later is not part of the deletion. Throws ClaimLost. */
  async rowsDeleted(sql: Sql, { id, fence }: Deletion, goneAt: Date): Promise<void> {
    const statement = `
      update receipt
      set
        rows_deleted_at = $3,
        leased_until = null,
        subject = (select athlete.subject from athlete where athlete.id = receipt.athlete_id)
      where id = $1 and fence = $2`;
    this.rows.require(await sql.query(statement, [id, fence, goneAt]));
  }

  async claimDepartures(leaseMs: number, limit: number): Promise<readonly DepartureClaim[]> {
    return (await this.database.query<DepartureClaim>(claimDepartures, [leaseMs, limit])).rows;
  }

  /** False: other workers have claimed all of them. */
  async renewDepartures(claims: readonly DepartureClaim[], leaseMs: number): Promise<boolean> {
    const statement = `update receipt set leased_until = lease_end($3) where ${CLAIMED} and leased_until is not null`;
    return (await this.database.query(statement, [...claimed(claims), leaseMs])).count > 0;
  }

  /** Counts nothing if another worker has claimed the departure: that worker erases the rest. */
  async countErased(claim: DepartureClaim, name: string, deleted: number): Promise<void> {
    this.rows.accepted(await this.count(this.database, claim, name, deleted));
  }

  /** Ends the leases, so that any worker can try again. False: other workers have claimed all of them. */
  async release(claims: ReadonlyArray<Fenced & { readonly id: string }>): Promise<boolean> {
    const statement = `update receipt set leased_until = null where ${CLAIMED}`;
    return this.rows.accepted(await this.database.query(statement, claimed(claims)), claims.length);
  }

  /**
   * Completes the receipts and returns their ids, without those that other workers have claimed. `remainsMs` is the time until only the receipt
   * names the person.
   */
  async complete(claims: readonly DepartureClaim[], remainsMs: number): Promise<readonly string[]> {
    const statement = `
      update receipt
      set
        completed_at = now(),
        until = now() + $3 * interval '1 millisecond',
        leased_until = null,
        accounts = '{}',
        subject = null
      where ${CLAIMED} and completed_at is null
      returning id`;
    const values = [...claimed(claims), remainsMs];
    const answer = await this.database.query<{ id: string }>(statement, values);
    this.rows.accepted(answer, claims.length);
    return answer.rows.map(({ id }) => id);
  }

  private count(sql: Sql, { id, fence }: Fenced & { readonly id: string }, name: string, deleted: number) {
    const statement = `
      update receipt
      set deleted = jsonb_set(deleted, array[$3], to_jsonb(coalesce((deleted ->> $3)::int, 0) + $4::int))
      where id = $1 and fence = $2`;
    return sql.query(statement, [id, fence, name, deleted]);
  }

  /** Deletes receipts that were completed more than `keptMs` ago, and returns how many. */
  purge(keptMs: number): Promise<number> {
    return deletePast(this.database, purgeReceipts, keptMs);
  }
}

const claimed = (claims: ReadonlyArray<Fenced & { readonly id: string }>) => [
  claims.map(({ id }) => id),
  claims.map(({ fence }) => fence),
];
