import { setTimeout as pause } from 'node:timers/promises';
import { DataSource, type DataSourceOptions, type MigrationInterface, type QueryRunner } from 'typeorm';
import { dataSourceOptions } from './data-source-options.js';
import { migrationClasses } from './migrations.js';
import { Primary } from './primary.js';

// The number of the advisory lock. Any fixed number works: a second migrator of the same database waits for the first.
const MIGRATION_LOCK = 7_263_001;
const STATEMENT_TIMEOUT_MS = 10 * 60_000;
// While a statement waits for a table lock, all later statements on that table queue behind it.
const LOCK_TIMEOUT_MS = 5_000;
const LOCK_PAUSE_MS = 100;

type MigrationClasses = Array<new () => MigrationInterface>;

/** Applies the missing migrations and returns their names. */
export function migrateUp(url: string, migrations: MigrationClasses = migrationClasses()): Promise<string[]> {
  return withMigrationLock(url, migrations, async (dataSource, session) => {
    const applied = await dataSource.runMigrations({ transaction: 'each' });
    const names = applied.map(({ name }) => name);
    await timeFirst(session, names);
    return names;
  });
}

/** Reverts the newest migration and returns its name; an empty list if there is none. */
export function migrateDown(
  url: string,
  migrations: MigrationClasses = migrationClasses(),
): Promise<string[]> {
  return withMigrationLock(url, migrations, async (dataSource, session) => {
    const before = await appliedNames(session);
    await dataSource.undoLastMigration({ transaction: 'each' });
    const after = new Set(await appliedNames(session));
    return before.filter((name) => !after.has(name));
  });
}

async function withMigrationLock<T>(
  url: string,
  migrations: MigrationClasses,
  work: (dataSource: DataSource, session: QueryRunner) => Promise<T>,
): Promise<T> {
  const limits = {
    applicationName: 'pacekeeper-migrate',
    poolSize: 2,
    statementTimeoutMs: STATEMENT_TIMEOUT_MS,
  };
  const options = {
    ...dataSourceOptions(await new Primary(url).find(), limits, (error) => void error),
    migrations,
    migrationsTableName: 'schema_migration',
    // Logs nothing: the caller reports a failure.
    logger: 'debug',
  } satisfies DataSourceOptions;
  const dataSource = await new DataSource({
    ...options,
    extra: { ...options.extra, lock_timeout: LOCK_TIMEOUT_MS },
  }).initialize();
  const lock = dataSource.createQueryRunner();
  try {
    await takeLock(lock);
    return await work(dataSource, lock);
  } finally {
    await lock.release();
    // Ends the session, which releases the lock.
    await dataSource.destroy();
  }
}

/**
 * Polls for the lock every 100 ms. A statement that waits for the lock would hold a snapshot. Another migrator's `create index
 * concurrently` would wait for this snapshot. The server does not detect this deadlock.
 */
async function takeLock(session: QueryRunner): Promise<void> {
  for (;;) {
    const { records } = await session.query(
      'select pg_try_advisory_lock($1) as taken',
      [MIGRATION_LOCK],
      true,
    );
    if ((records as Array<{ taken: boolean }>)[0]?.taken) return;
    await pause(LOCK_PAUSE_MS);
  }
}

/** Writes the time of the migrations before 0036, which adds the column for it. Migrations that an earlier run has applied stay without a time. */
async function timeFirst(session: QueryRunner, names: readonly string[]): Promise<void> {
  const { records } = await session.query(
    `select 1 from information_schema.columns where table_name = 'schema_migration' and column_name = 'applied_at'`,
    [],
    true,
  );
  if ((records as unknown[]).length === 0) return;
  await session.query(
    'update schema_migration set applied_at = clock_timestamp() where applied_at is null and name = any($1)',
    [names],
  );
}

async function appliedNames(session: QueryRunner): Promise<string[]> {
  const { records } = await session.query('select name from schema_migration order by id', [], true);
  return (records as Array<{ name: string }>).map(({ name }) => name);
}
