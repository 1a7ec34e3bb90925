import { Injectable } from '@nestjs/common';
import { Database, loadSql, type Sql } from '#platform';
import { beginning, type ImportCursor } from './import-cursor.js';
import { type ImportJob, type ImportStatus, type ImportType, type Turn } from './import-job.js';

const createImport = loadSql(import.meta.url, './sql/create-import.sql');
const claimImport = loadSql(import.meta.url, './sql/claim-import.sql');
const neverImported = loadSql(import.meta.url, './sql/never-imported.sql');
const dueImports = loadSql(import.meta.url, './sql/due-imports.sql');
const suspendImport = loadSql(import.meta.url, './sql/suspend-import.sql');
const finishImport = loadSql(import.meta.url, './sql/finish-import.sql');
const pendingCalls = loadSql(import.meta.url, './sql/pending-calls.sql');
const countScope = loadSql(import.meta.url, './sql/count-scope.sql');

const UNFINISHED = `('queued', 'started', 'rate_limited')`;
const UNIQUE_VIOLATION = '23505';

export interface Scope {
  readonly total: number;
  readonly stored: number;
  readonly set_aside: number;
  readonly retry_in_ms: number | null;
}

export interface Suspension {
  readonly status: 'rate_limited' | 'queued';
  readonly forMs: number;
  readonly error: string | null;
  readonly failures: number;
  readonly accidents: number;
}

export interface Ending {
  readonly status: 'completed' | 'failed';
  readonly error?: string;
  readonly cursor?: ImportCursor;
  readonly total?: number;
}

/** The rows of imports. Whoever holds a turn writes with its number; a turn that is over changes nothing. */
@Injectable()
export class ImportJobs {
  constructor(private readonly database: Database) {}

  /** The unfinished one of that type, if there is one. */
  async createOrFind(
    athleteId: string,
    type: ImportType,
    since: Date | null,
  ): Promise<{ job: ImportJob; isNew: boolean }> {
    return this.database.transaction(async (sql) => {
      const values = [athleteId, type, since, JSON.stringify(beginning)];
      for (;;) {
        const created = await sql.query<ImportJob>(createImport, values);
        if (created.rows[0]) return { job: created.rows[0], isNew: true };
        const statement = `select * from import_jobs where athlete_id = $1 and type = $2 and status in ${UNFINISHED}`;
        const { rows } = await sql.query<ImportJob>(statement, [athleteId, type]);
        // It may have finished between the two statements.
        if (rows[0]) return { job: rows[0], isNew: false };
      }
    });
  }

  async find(athleteId: string, id: string): Promise<ImportJob | undefined> {
    const statement = 'select * from import_jobs where athlete_id = $1 and id = $2';
    const { rows } = await this.database.query<ImportJob>(statement, [athleteId, id]);
    return rows[0];
  }

  /** The turn after that one, if nobody has it. A tick of an earlier turn finds nothing. */
  async claim(id: string, turn: number, leaseMs: number): Promise<Turn | undefined> {
    try {
      const { rows } = await this.database.query<Turn>(claimImport, [id, leaseMs, turn]);
      return rows[0];
    } catch (error) {
      // Two imports of one athlete were claimed at the same moment.
      if ((error as { code?: string }).code === UNIQUE_VIOLATION) return undefined;
      throw error;
    }
  }

  async renew({ id, turn }: Turn, leaseMs: number): Promise<boolean> {
    const statement = `
      update import_jobs
      set leased_until = clock_timestamp() + $3 * interval '1 millisecond'
      where id = $1 and turn = $2 and status = 'started'`;
    const { count } = await this.database.query(statement, [id, turn, leaseMs]);
    return count > 0;
  }

  async neverImported(limit: number): Promise<string[]> {
    const { rows } = await this.database.query<{ athlete_id: string }>(neverImported, [limit]);
    return rows.map(({ athlete_id }) => athlete_id);
  }

  async due(limit: number): Promise<Array<{ id: string; turn: number }>> {
    const { rows } = await this.database.query<{ id: string; turn: number }>(dueImports, [limit]);
    return rows;
  }

  /** False: the turn is over, by cancellation or by somebody else's. */
  async moveOn(
    sql: Sql,
    { id, turn }: Turn,
    cursor: ImportCursor,
    total: number | null = null,
  ): Promise<boolean> {
    const statement = `
      update import_jobs
      set sync_cursor = $3, activities_total = coalesce($4, activities_total), failures = 0, accidents = 0, error = null, updated_at = now()
      where id = $1 and turn = $2 and status = 'started'`;
    const { count } = await sql.query(statement, [id, turn, JSON.stringify(cursor), total]);
    return count > 0;
  }

  async isCurrent(sql: Sql, { id, turn }: Turn): Promise<boolean> {
    const statement = `select 1 from import_jobs where id = $1 and turn = $2 and status = 'started' for share`;
    const { count } = await sql.query(statement, [id, turn]);
    return count > 0;
  }

  /** The next turn may begin at once, anywhere. */
  async handBack({ id, turn }: Turn): Promise<void> {
    const statement = `
      update import_jobs
      set leased_until = null, updated_at = now()
      where id = $1 and turn = $2 and status = 'started'`;
    await this.database.query(statement, [id, turn]);
  }

  async suspend(
    { id, turn }: Turn,
    { status, forMs, error, failures, accidents }: Suspension,
  ): Promise<Date | undefined> {
    const values = [id, turn, status, forMs, error, failures, accidents];
    const { rows } = await this.database.query<{ retry_after: Date }>(suspendImport, values);
    return rows[0]?.retry_after;
  }

  async finish(sql: Sql, { id, turn }: Turn, { status, error, cursor, total }: Ending): Promise<boolean> {
    const json = cursor && JSON.stringify(cursor);
    const { count } = await sql.query(finishImport, [id, turn, status, json, total, error]);
    return count > 0;
  }

  async cancel(athleteId: string, id: string): Promise<boolean> {
    const statement = `
      update import_jobs
      set status = 'cancelled', turn = turn + 1, leased_until = null, retry_after = null, finished_at = now(), updated_at = now()
      where athlete_id = $1 and id = $2 and status in ${UNFINISHED}`;
    const { count } = await this.database.query(statement, [athleteId, id]);
    return count > 0;
  }

  async scope(
    sql: Sql,
    { athlete_id, since, type, created_at }: Pick<Turn, 'athlete_id' | 'since' | 'type' | 'created_at'>,
  ) {
    const missingSince = type === 'incremental' ? created_at : null;
    const { rows } = await sql.query<Scope>(countScope, [athlete_id, since, missingSince]);
    return rows[0] as Scope;
  }

  /** Calls that the athletes' unfinished imports still have to make. */
  async pendingCalls(): Promise<ReadonlyMap<string, number>> {
    const { rows } = await this.database.query<{ athlete_id: string; calls: number }>(pendingCalls);
    return new Map(rows.map(({ athlete_id, calls }) => [athlete_id, calls]));
  }

  async countByStatus(): Promise<ReadonlyMap<ImportStatus, number>> {
    const statement = 'select status, count(*)::int as jobs from import_jobs group by status';
    const { rows } = await this.database.query<{ status: ImportStatus; jobs: number }>(statement);
    return new Map(rows.map(({ status, jobs }) => [status, jobs]));
  }
}
