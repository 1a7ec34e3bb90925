import { setTimeout as pause } from 'node:timers/promises';
import { DataSource, type DataSourceOptions, type MigrationInterface, type QueryRunner } from 'typeorm';
import { dataSourceOptions } from './data-source-options.js';
import { migrationClasses } from './migrations.js';

// One number for all deployments: two migrators on one database wait for each other instead of racing.
const MIGRATION_LOCK = 7_263_001;
const STATEMENT_TIMEOUT_MS = 10 * 60_000;
// Waiting longer for a table lock would hold up everybody queued behind us.
const LOCK_TIMEOUT_MS = 5_000;
const LOCK_PAUSE_MS = 100;

type MigrationClasses = Array<new () => MigrationInterface>;

/** Applies what is missing; answers the names. */
export function migrateUp(url: string, migrations: MigrationClasses = migrationClasses()): Promise<string[]> {
  return locked(url, migrations, async (dataSource) => {
    const applied = await dataSource.runMigrations({ transaction: 'each' });
    return applied.map(({ name }) => name);
  });
}

/** Takes back the newest one; answers its name. */
export function migrateDown(
  url: string,
  migrations: MigrationClasses = migrationClasses(),
): Promise<string[]> {
  return locked(url, migrations, async (dataSource, session) => {
    const before = await appliedNames(session);
    await dataSource.undoLastMigration({ transaction: 'each' });
    const after = new Set(await appliedNames(session));
    return before.filter((name) => !after.has(name));
  });
}

async function locked<T>(
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
    ...dataSourceOptions(url, limits, (error) => void error),
    migrations,
    migrationsTableName: 'schema_migration',
    // Silent: a failure is reported once, by whoever called.
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
    // Ends the session, and with it the lock.
    await dataSource.destroy();
  }
}

/**
 * Asked again and again rather than waited for: a statement that waits holds a snapshot, for which another migrator's
 * `create index concurrently` would wait in turn, and the server cannot see that deadlock.
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

async function appliedNames(session: QueryRunner): Promise<string[]> {
  const { records } = await session.query('select name from schema_migration order by id', [], true);
  return (records as Array<{ name: string }>).map(({ name }) => name);
}
