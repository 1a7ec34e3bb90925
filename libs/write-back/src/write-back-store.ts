import { Inject, Injectable } from '@nestjs/common';
import { CONFIG, Database, type Fenced, FencedRows, loadSql, type Sql, type Statement } from '#platform';
import { type RunKey, type RunListener } from '#processing';
import { type ProductConfig, settingsOf, VENDOR_IDS, type VendorId } from '#vendors';

const plan = loadSql(import.meta.url, './sql/plan.sql');
const claim = loadSql(import.meta.url, './sql/claim.sql');
const postpone = loadSql(import.meta.url, './sql/postpone.sql');
const finish = loadSql(import.meta.url, './sql/finish.sql');

/** The right to one attempt, until its lease ends. */
export interface WriteBackClaim extends Fenced {
  readonly activity_id: string;
  /** Attempts so far, this one included. */
  readonly attempts: number;
  readonly title: string;
  readonly description: string;
  readonly athlete_id: string;
  readonly provider: VendorId;
  readonly external_activity_id: string;
  readonly imported_name: string | null;
  /** Null if the athlete is not connected. */
  readonly scopes: readonly string[] | null;
}

export type WriteBackOutcome = 'written' | 'left' | 'refused';

/** A write-back as its athlete sees it. */
interface WriteBackView {
  readonly status: 'pending' | 'writing' | WriteBackOutcome;
  readonly reason: string | null;
  readonly finished_at: Date | null;
}

/** Stores write-backs. Leases follow the database's clock. A write under a claim returns false if another worker has taken over. */
@Injectable()
export class WriteBackStore {
  private readonly rows = new FencedRows('write_back', 'write_back', 'athlete_id', 'activity_id');

  constructor(private readonly database: Database) {}

  /** `providers`: the vendors that our words are written to. */
  async plan(sql: Sql, runs: readonly RunKey[], providers: readonly VendorId[]): Promise<void> {
    const athletes = runs.map(({ athlete_id }) => athlete_id);
    const runIds = runs.map(({ run_id }) => run_id);
    await sql.query(plan, [athletes, runIds, providers]);
  }

  async claim(leaseMs: number): Promise<WriteBackClaim | undefined> {
    const { rows } = await this.database.query<WriteBackClaim>(claim, [leaseMs]);
    return rows[0];
  }

  renew(held: WriteBackClaim, leaseMs: number): Promise<boolean> {
    return this.rows.renew(this.database, [held.athlete_id, held.activity_id], held, leaseMs);
  }

  postpone(
    { athlete_id, activity_id, fence }: WriteBackClaim,
    reason: string,
    forMs: number,
    counts: boolean,
  ): Promise<boolean> {
    return this.isOurs(postpone, [athlete_id, activity_id, fence, reason, forMs, counts]);
  }

  finish(
    { athlete_id, activity_id, fence }: WriteBackClaim,
    end: WriteBackOutcome,
    reason: string | null,
  ): Promise<boolean> {
    return this.isOurs(finish, [athlete_id, activity_id, fence, end, reason]);
  }

  /** Undefined if no write-back was planned, or if the activity is not the athlete's. */
  async find(athleteId: string, activityId: string): Promise<WriteBackView | undefined> {
    const statement = `
      select status, reason, finished_at
      from write_back
      where athlete_id = $1 and activity_id = $2`;
    return (await this.database.query<WriteBackView>(statement, [athleteId, activityId])).rows[0];
  }

  private async isOurs(statement: Statement, values: readonly unknown[]): Promise<boolean> {
    return this.rows.accepted(await this.database.query(statement, values));
  }
}

/** The vendors that the operator lets us write to. */
export function writtenVendors(config: ProductConfig): readonly VendorId[] {
  return VENDOR_IDS.filter((id) => settingsOf(config, id).writesBack);
}

/** Plans a write-back when a run has made a title and a description, in the transaction that ends the run. */
@Injectable()
export class PlannedWriteBacks implements RunListener {
  readonly isOn: boolean;
  private readonly providers: readonly VendorId[];

  constructor(
    private readonly store: WriteBackStore,
    @Inject(CONFIG) config: ProductConfig,
  ) {
    this.providers = writtenVendors(config);
    this.isOn = this.providers.length > 0;
  }

  succeeded(sql: Sql, runs: readonly RunKey[]): Promise<void> {
    return this.store.plan(sql, runs, this.providers);
  }
}
