import { types } from 'node:util';
import type pg from 'pg';
import { type DataSource } from 'typeorm';
import { DependencyUnavailable } from '../errors/app-error.js';
import { isPostgresAway, isServerInDoubt } from '../errors/dependency-failure.js';
import { epochOf, type Primary } from './primary.js';

/** An SQL statement. If it has a name, it is prepared once per connection; behind a pooler it is not prepared. */
export interface Statement {
  readonly text: string;
  readonly name?: string;
  /** How the driver reads the columns; by default as its own types. */
  readonly types?: pg.CustomTypesConfig;
}

export interface Result<Row> {
  readonly rows: Row[];
  /** Rows returned or changed, for any kind of statement. */
  readonly count: number;
}

export interface Sql {
  query<Row extends object>(statement: Statement | string, values?: readonly unknown[]): Promise<Result<Row>>;
}

interface DatabaseOptions {
  /** The server that the pool's connections lead to. */
  readonly primary?: Primary;
  /** True: the pool leads to a pooler, where the next statement may run on another connection of the server. */
  readonly isPooled?: boolean;
}

/**
 * Runs hand-written SQL on TypeORM's pool, and returns rows and count for every statement. (`DataSource.query` returns rows for a select
 * and an insert, but `[rows, count]` for an update.)
 *
 * A statement throws DependencyUnavailable if Postgres does not answer. `Database` retries nothing, because a statement that timed out may
 * still have been executed. A caller that repeats a write needs a key or a fence, so that the second write does nothing.
 */
export class Database implements Sql {
  private readonly primary: Primary | undefined;
  private readonly isPooled: boolean;

  constructor(
    private readonly pool: pg.Pool,
    { primary, isPooled = false }: DatabaseOptions = {},
  ) {
    this.primary = primary;
    this.isPooled = isPooled;
  }

  query<Row extends object>(
    statement: Statement | string,
    values: readonly unknown[] = [],
  ): Promise<Result<Row>> {
    return this.onConnection((sql) => sql.query<Row>(statement, values));
  }

  /**
   * The time of the database's clock. Processes use this time if they store or compare times, because their own clocks may be seconds
   * apart.
   */
  async now(): Promise<Date> {
    const { rows } = await this.query<{ now: Date }>({
      name: 'now',
      text: 'select clock_timestamp() as now',
    });
    return (rows[0] as { now: Date }).now;
  }

  /**
   * Commits if `work` succeeds, otherwise rolls back. `work` must not call another server: the transaction would hold its locks during that
   * call.
   */
  transaction<T>(work: (sql: Sql) => Promise<T>): Promise<T> {
    return this.onConnection(async (sql) => {
      await sql.query('begin');
      try {
        const result = await work(sql);
        await sql.query('commit');
        return result;
      } catch (error) {
        // A broken connection is closed, which rolls back as well.
        if (!(error instanceof DependencyUnavailable)) await sql.query('rollback');
        throw error;
      }
    });
  }

  private async onConnection<T>(work: (sql: Sql) => Promise<T>): Promise<T> {
    const client = await this.connect();
    let broken = false;
    // The pool handles only errors of idle connections. If a borrowed connection breaks, it rejects its query and also emits `error`.
    // Without a listener, this event would end the process.
    const onError = () => (broken = true);
    client.on('error', onError);
    const sql: Sql = {
      query: async <Row extends object>(statement: Statement | string, values: readonly unknown[] = []) => {
        try {
          return await this.run<Row>(client, statement, values);
        } catch (error) {
          // After a timeout the server may still send the answer. The next query on this connection would receive it, so the connection is
          // closed.
          broken ||= error instanceof DependencyUnavailable;
          throw error;
        }
      },
    };
    try {
      return await work(sql);
    } finally {
      client.off('error', onError);
      client.release(broken);
    }
  }

  private async connect(): Promise<pg.PoolClient> {
    try {
      for (;;) {
        const client = await this.pool.connect();
        if (!this.primary || epochOf(client) === this.primary.epoch) return client;
        client.release(true);
      }
    } catch (cause) {
      if (isServerInDoubt(cause)) this.primary?.doubt(this.primary.epoch);
      throw new DependencyUnavailable('postgres', { cause });
    }
  }

  private async run<Row extends object>(
    client: pg.PoolClient,
    statement: Statement | string,
    values: readonly unknown[],
  ): Promise<Result<Row>> {
    const {
      text,
      name,
      types: columns,
    }: Statement = typeof statement === 'string' ? { text: statement } : statement;
    const endWatch = this.primary?.watch(client);
    try {
      const prepared = this.isPooled ? undefined : name;
      const query = { text, name: prepared, values: [...values], ...(columns && { types: columns }) };
      const { rows, rowCount } = await client.query<Row>(query);
      return { rows, count: rowCount ?? rows.length };
    } catch (cause) {
      if (isServerInDoubt(cause)) this.primary?.doubt(epochOf(client));
      if (types.isNativeError(cause) && isPostgresAway(cause))
        throw new DependencyUnavailable('postgres', { cause });
      throw cause;
    } finally {
      endWatch?.();
    }
  }
}

/** The pool that TypeORM has made. */
export function poolOf(dataSource: DataSource): pg.Pool {
  return (dataSource.driver as unknown as { master: pg.Pool }).master;
}
