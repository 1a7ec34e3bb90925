import { Injectable } from '@nestjs/common';
import {
  Database,
  deletePast,
  FencedRows,
  inBatches,
  type Keyset,
  loadSql,
  prepared,
  roughCount,
  type Sql,
} from '#platform';
import { type VendorId, vendorsWith } from '#vendors';
import { type ActivityOwner } from '../activity-store.js';
import { beginning, type ImportCursor } from './import-cursor.js';
import { type ImportJob, type ImportStatus, type ImportType, type ImportClaim } from './import-job.js';

const listImports = prepared(
  'list imports',
  `
    -- $1 athlete, $2 and $3 the place after which the page begins, $4 how many
    select
      *,
      to_char(created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as place
    from import_jobs
    where athlete_id = $1
      and (created_at, id) < (coalesce($2, 'infinity'::timestamptz), coalesce($3, 'ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid))
    order by created_at desc, id desc
    limit $4`,
);
const latestImports = loadSql(import.meta.url, './sql/latest-imports.sql');
const reopenSetAside = loadSql(import.meta.url, './sql/reopen-set-aside.sql');
const claimReopening = loadSql(import.meta.url, './sql/claim-reopening.sql');
const createImport = loadSql(import.meta.url, './sql/create-import.sql');
const waitForImport = loadSql(import.meta.url, './sql/wait-for-import.sql');
const claimImport = loadSql(import.meta.url, './sql/claim-import.sql');
const neverImported = loadSql(import.meta.url, './sql/never-imported.sql');
const dueImports = loadSql(import.meta.url, './sql/due-imports.sql');
const suspendImport = loadSql(import.meta.url, './sql/suspend-import.sql');
const finishImport = loadSql(import.meta.url, './sql/finish-import.sql');
const pendingCalls = prepared(
  'pending calls of imports',
  `
    select
      activity.athlete_id,
      (count(*) filter (where detail_status = 'pending') + count(*) filter (where photos_status = 'pending'))::int as calls
    from activity
    where (detail_status = 'pending' or photos_status = 'pending')
      and activity.provider = $1
      and activity.athlete_id in (
        select athlete_id
        from import_jobs
        where status in ('queued', 'started', 'rate_limited')
          and provider = $1
      )
    group by activity.athlete_id`,
);
const purgeSuperseded = loadSql(import.meta.url, './sql/purge-superseded.sql');
const countScope = loadSql(import.meta.url, './sql/count-scope.sql');

const UNFINISHED = `('queued', 'started', 'rate_limited')`;
const ENDED = ['completed', 'failed', 'cancelled'] as const;
const UNIQUE_VIOLATION = '23505';
// One statement for 20,000 activities took 2.4 s on a busy machine, and a statement of the api may take 3 s.
const REOPENED_AT_ONCE = 1_000;

interface Scope {
  readonly total: number;
  readonly stored: number;
  readonly retry_in_ms: number | null;
}

export interface Suspension {
  readonly status: 'rate_limited' | 'queued';
  readonly forMs: number;
  readonly error: string | null;
  readonly failures: number;
  readonly accidents: number;
}

interface CreationOptions {
  readonly cooldownMs?: number;
  readonly isListedWhole?: boolean;
  readonly sql?: Sql;
}

/** The limits of the imports that an athlete begins from a vendor within a time. */
interface ImportShare {
  readonly imports: number;
  /** Requested pages of the vendor's list, without those of the import with the longest list. */
  readonly pagesAgain: number;
  readonly withinMs: number;
}

interface ImportOutcome {
  readonly status: 'completed' | 'failed';
  readonly error?: string;
  readonly cursor?: ImportCursor;
  readonly total?: number;
}

/** The rows of imports. Each write of a claim is fenced: a worker whose claim is over changes nothing. */
@Injectable()
export class ImportJobs {
  private readonly rows = new FencedRows('import', 'import_jobs', 'id');

  constructor(private readonly database: Database) {}

  /**
   * Returns the unfinished import of that vendor and type. If there is none, returns an import of the present connection that was
   * completed within `cooldownMs` and reaches back far enough. If there is none either, creates an import. An incremental import
   * without `since` looks back to the last synchronisation, or as far as the vendor's list if `isListedWhole`.
   */
  async createOrFind(
    { athleteId, provider }: ActivityOwner,
    type: ImportType,
    since: Date | null,
    { cooldownMs = 0, isListedWhole = false, sql = this.database }: CreationOptions = {},
  ): Promise<{ job: ImportJob; isNew: boolean }> {
    const values = [athleteId, type, since, JSON.stringify(beginning), cooldownMs, provider, !isListedWhole];
    for (;;) {
      const found = await sql.query<ImportJob & { is_new: boolean }>(createImport, values);
      if (found.rows[0]) return { job: found.rows[0], isNew: found.rows[0].is_new };
      const statement = `
        select *
        from import_jobs
        where athlete_id = $1 and provider = $3 and type = $2 and status in ${UNFINISHED}`;
      const { rows } = await sql.query<ImportJob>(statement, [athleteId, type, provider]);
      // The import may have finished between the two statements.
      if (rows[0]) return { job: rows[0], isNew: false };
    }
  }

  /**
   * Returns the time until another import from the vendor may begin. Undefined: one may begin now. Imports of an earlier connection do not
   * count.
   */
  async waitMs(
    { athleteId, provider }: ActivityOwner,
    { imports, pagesAgain, withinMs }: ImportShare,
    sql: Sql = this.database,
  ): Promise<number | undefined> {
    const values = [athleteId, provider, imports, withinMs, pagesAgain];
    const { rows } = await sql.query<{ wait_ms: number | null }>(waitForImport, values);
    return rows[0]?.wait_ms ?? undefined;
  }

  /** True: this import may reopen set-aside activities. False if none is set aside, or if another import got this right within `everyMs`. */
  async mayReopen(sql: Sql, { athlete_id, provider, id }: ImportJob, everyMs: number): Promise<boolean> {
    return (await sql.query(claimReopening, [athlete_id, id, everyMs, provider])).count > 0;
  }

  /** Makes set-aside activities pending again, so that this import tries them. If the process dies, the next day's import tries the rest. */
  reopenSetAside({ athlete_id, provider }: ImportJob): Promise<number> {
    return inBatches(REOPENED_AT_ONCE, async (limit) => {
      const { count } = await this.database.query(reopenSetAside, [athlete_id, provider, limit]);
      return count;
    });
  }

  /** Lists imports, newest first, after a place in the list. Each row is returned with its place. */
  async list(
    athleteId: string,
    after: Keyset | undefined,
    limit: number,
  ): Promise<Array<ImportJob & { readonly place: string }>> {
    const values = [athleteId, after?.place, after?.id, limit];
    const { rows } = await this.database.query<ImportJob & { place: string }>(listImports, values);
    return rows;
  }

  /** The unfinished import of each athlete, or else the newest one. */
  async latest(athleteIds: readonly string[]): Promise<ImportJob[]> {
    const { rows } = await this.database.query<ImportJob>(latestImports, [athleteIds]);
    return rows;
  }

  async find(athleteId: string, id: string): Promise<ImportJob | undefined> {
    const statement = 'select * from import_jobs where athlete_id = $1 and id = $2';
    const { rows } = await this.database.query<ImportJob>(statement, [athleteId, id]);
    return rows[0];
  }

  /** Claims an import. Undefined if the import is not due, its fence has changed, or another import of the athlete and vendor is running. */
  async claim(id: string, fence: string, leaseMs: number): Promise<ImportClaim | undefined> {
    try {
      const { rows } = await this.database.query<ImportClaim>(claimImport, [id, leaseMs, fence]);
      return rows[0];
    } catch (error) {
      // Another worker claimed another import of this athlete and vendor at the same moment.
      if ((error as { code?: string }).code === UNIQUE_VIOLATION) return undefined;
      throw error;
    }
  }

  /** False: the claim is over. */
  renew(claim: ImportClaim, leaseMs: number): Promise<boolean> {
    return this.rows.renew(this.database, claim.id, claim, leaseMs);
  }

  /** Active connections to vendors with activities that have no import. `withinMs`: only connections that are not older. */
  async neverImported(limit: number, withinMs?: number): Promise<ActivityOwner[]> {
    type Row = { athlete_id: string; provider: VendorId };
    const values = [limit, vendorsWith('activities'), withinMs];
    const { rows } = await this.database.query<Row>(neverImported, values);
    return rows.map(({ athlete_id: athleteId, provider }) => ({ athleteId, provider }));
  }

  async due(limit: number): Promise<Array<Pick<ImportJob, 'id' | 'fence'>>> {
    const { rows } = await this.database.query<Pick<ImportJob, 'id' | 'fence'>>(dueImports, [limit]);
    return rows;
  }

  /** Stores the cursor. False: the import was cancelled, or another worker has claimed it. */
  async moveOn(
    sql: Sql,
    { id, fence }: ImportClaim,
    cursor: ImportCursor,
    total: number | null = null,
  ): Promise<boolean> {
    const statement = `
      update import_jobs
      set sync_cursor = $3, activities_total = coalesce($4, activities_total), failures = 0, accidents = 0, error = null, updated_at = now()
      where id = $1 and fence = $2 and status = 'started'`;
    return this.rows.accepted(await sql.query(statement, [id, fence, JSON.stringify(cursor), total]));
  }

  async isCurrent(sql: Sql, { id, fence }: ImportClaim): Promise<boolean> {
    const statement = `select 1 from import_jobs where id = $1 and fence = $2 and status = 'started' for share`;
    return this.rows.accepted(await sql.query(statement, [id, fence]));
  }

  /** Ends the lease, so that any worker may claim the next batch at once. False: the claim is over. */
  async release({ id, fence }: ImportClaim): Promise<boolean> {
    const statement = `
      update import_jobs
      set leased_until = null, updated_at = now()
      where id = $1 and fence = $2 and status = 'started'`;
    return this.rows.accepted(await this.database.query(statement, [id, fence]));
  }

  /** Ends the lease, and sets when the import is due again, by the database's clock. Undefined if the claim is over. */
  async suspend(
    sql: Sql,
    { id, fence }: ImportClaim,
    { status, forMs, error, failures, accidents }: Suspension,
  ): Promise<ImportJob | undefined> {
    const values = [id, fence, status, forMs, error, failures, accidents];
    const answer = await sql.query<ImportJob>(suspendImport, values);
    return this.rows.accepted(answer) ? answer.rows[0] : undefined;
  }

  /** Undefined if the claim is over. */
  async finish(
    sql: Sql,
    { id, fence }: ImportClaim,
    { status, error, cursor, total }: ImportOutcome,
  ): Promise<ImportJob | undefined> {
    const json = cursor && JSON.stringify(cursor);
    const answer = await sql.query<ImportJob>(finishImport, [id, fence, status, json, total, error]);
    return this.rows.accepted(answer) ? answer.rows[0] : undefined;
  }

  /** Undefined if the athlete has no such import, or it has ended. */
  async cancel(athleteId: string, id: string, sql: Sql = this.database): Promise<ImportJob | undefined> {
    const statement = `
      update import_jobs
      set status = 'cancelled', fence = fence + 1, leased_until = null, retry_after = null, finished_at = now(), updated_at = now()
      where athlete_id = $1 and id = $2 and status in ${UNFINISHED}
      returning *`;
    return (await sql.query<ImportJob>(statement, [athleteId, id])).rows[0];
  }

  /** How much of an import is stored, and when the next postponed activity is due. */
  async scope(
    sql: Sql,
    {
      athlete_id,
      provider,
      since,
      type,
      created_at,
    }: Pick<ImportClaim, 'athlete_id' | 'provider' | 'since' | 'type' | 'created_at'>,
  ) {
    const missingSince = type === 'incremental' ? created_at : null;
    const { rows } = await sql.query<Scope>(countScope, [athlete_id, since, missingSince, provider]);
    return rows[0] as Scope;
  }

  /** How many calls the unfinished imports from a vendor still need, by athlete. */
  async pendingCalls(provider: VendorId): Promise<ReadonlyMap<string, number>> {
    type Row = { athlete_id: string; calls: number };
    const { rows } = await this.database.query<Row>(pendingCalls, [provider]);
    return new Map(rows.map(({ athlete_id, calls }) => [athlete_id, calls]));
  }

  /** Counts unfinished imports exactly. Counts ended imports exactly up to 1,000 of a status; above 1,000 the count is an estimate. */
  async countByStatus(): Promise<ReadonlyMap<ImportStatus, number>> {
    const statement = `select status, count(*)::int as jobs from import_jobs where status in ${UNFINISHED} group by status`;
    const { rows } = await this.database.query<{ status: ImportStatus; jobs: number }>(statement);
    const counts = new Map(rows.map(({ status, jobs }) => [status, jobs]));
    for (const status of ENDED) {
      const count = await roughCount(this.database, 'import_jobs', `status = '${status}'`);
      if (count > 0) counts.set(status, count);
    }
    return counts;
  }

  /** Deletes imports that a newer import of the same athlete, vendor and type superseded more than `keptMs` ago. Returns how many. */
  purge(keptMs: number): Promise<number> {
    return deletePast(this.database, purgeSuperseded, keptMs);
  }
}
