import { types } from 'node:util';
import type pg from 'pg';
import { type DataSource } from 'typeorm';
import { DependencyUnavailable } from '../errors/app-error.js';
import { isPostgresAway } from '../errors/dependency-failure.js';

/** A statement of ours: its text, and a name where it is worth preparing once per connection. */
export interface Statement {
  readonly text: string;
  readonly name?: string;
}

export interface Result<Row> {
  readonly rows: Row[];
  /** Rows returned or changed, whatever the kind of statement. */
  readonly count: number;
}

export interface Sql {
  query<Row extends object>(statement: Statement | string, values?: readonly unknown[]): Promise<Result<Row>>;
}

/**
 * Hand-written SQL over TypeORM's own pool. `DataSource.query` answers rows for a select, `[rows, count]` for an update
 * and rows again for an insert; here every statement answers the same shape.
 */
export class Database implements Sql {
  constructor(private readonly dataSource: DataSource) {}

  query<Row extends object>(
    statement: Statement | string,
    values: readonly unknown[] = [],
  ): Promise<Result<Row>> {
    return this.onConnection((sql) => sql.query<Row>(statement, values));
  }

  /** Commits what `work` did, or nothing of it. Never keep one open across a call to somebody else's server. */
  transaction<T>(work: (sql: Sql) => Promise<T>): Promise<T> {
    return this.onConnection(async (sql) => {
      await sql.query('begin');
      try {
        const result = await work(sql);
        await sql.query('commit');
        return result;
      } catch (error) {
        // A connection that is gone, or has a dead query before it, is closed, which rolls back as well.
        if (!(error instanceof DependencyUnavailable)) await sql.query('rollback');
        throw error;
      }
    });
  }

  private async onConnection<T>(work: (sql: Sql) => Promise<T>): Promise<T> {
    const client = await this.connect();
    let broken = false;
    // The pool listens only to idle connections. A borrowed one that breaks also rejects its query, but its error event
    // would end the process if nobody listened.
    const onError = () => (broken = true);
    client.on('error', onError);
    const sql: Sql = {
      query: async <Row extends object>(statement: Statement | string, values: readonly unknown[] = []) => {
        try {
          return await run<Row>(client, statement, values);
        } catch (error) {
          // A connection that timed out may still deliver that answer, to the next who borrows it.
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
      return await this.pool.connect();
    } catch (cause) {
      throw new DependencyUnavailable('postgres', { cause });
    }
  }

  private get pool(): pg.Pool {
    return (this.dataSource.driver as unknown as { master: pg.Pool }).master;
  }
}

async function run<Row extends object>(
  client: pg.PoolClient,
  statement: Statement | string,
  values: readonly unknown[],
): Promise<Result<Row>> {
  const { text, name } = typeof statement === 'string' ? { text: statement } : statement;
  try {
    const { rows, rowCount } = await client.query<Row>({ text, name, values: [...values] });
    return { rows, count: rowCount ?? rows.length };
  } catch (cause) {
    if (types.isNativeError(cause) && isPostgresAway(cause))
      throw new DependencyUnavailable('postgres', { cause });
    throw cause;
  }
}
