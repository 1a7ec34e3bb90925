import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { DataSource } from 'typeorm';
import {
  dataSourceOptions,
  type DatabaseLimits,
} from '../../libs/platform/src/database/data-source-options.js';
import { Database, poolOf } from '../../libs/platform/src/database/database.js';
import { type Entity } from '../../libs/platform/src/database/database.module.js';
import { serverUrl, TEMPLATE } from './servers.js';

export interface TestDatabase {
  readonly url: string;
  drop(): Promise<void>;
}

// Since Postgres 15 a clone is written to the log page by page, unless this strategy is given. A copy of the files takes a third of the
// processor time (31 ms instead of 88 ms). Postgres 14 always copies the files.
const POSTGRES_15 = 150_000;

/** A database for one test file, cloned from the migrated template. With `template0` the database is empty. */
export async function createTestDatabase(template = TEMPLATE): Promise<TestDatabase> {
  const name = `test_${randomUUID().replaceAll('-', '')}`;
  await asAdmin(async (admin) => {
    const { rows } = await admin.query<{ number: number }>(
      "select current_setting('server_version_num')::int as number",
    );
    const strategy = rows[0]!.number >= POSTGRES_15 ? 'strategy file_copy' : '';
    await admin.query(`create database ${name} template ${template} ${strategy}`);
  });
  return {
    url: serverUrl(name),
    drop: () => asAdmin((admin) => admin.query(`drop database ${name} with (force)`)),
  };
}

export interface OpenDatabase {
  readonly url: string;
  readonly dataSource: DataSource;
  readonly database: Database;
  close(): Promise<void>;
}

const LIMITS: DatabaseLimits = { applicationName: 'test', poolSize: 5, statementTimeoutMs: 5_000 };

export async function openTestDatabase(
  entities: readonly Entity[] = [],
  limits: Partial<DatabaseLimits> = {},
): Promise<OpenDatabase> {
  const { url, drop } = await createTestDatabase();
  const pool = await openPool(url, entities, limits);
  return {
    url,
    ...pool,
    close: async () => {
      await pool.close();
      await drop();
    },
  };
}

/** Opens a further pool on an existing database. */
export async function openPool(
  url: string,
  entities: readonly Entity[] = [],
  limits: Partial<DatabaseLimits> = {},
): Promise<Omit<OpenDatabase, 'url'>> {
  const options = dataSourceOptions(url, { ...LIMITS, ...limits }, () => undefined);
  const dataSource = await new DataSource({ ...options, entities: [...entities] }).initialize();
  return { dataSource, database: new Database(poolOf(dataSource)), close: () => dataSource.destroy() };
}

async function asAdmin(work: (admin: pg.Client) => Promise<unknown>): Promise<void> {
  const admin = new pg.Client({ connectionString: serverUrl('postgres') });
  await admin.connect();
  try {
    await work(admin);
  } finally {
    await admin.end();
  }
}
