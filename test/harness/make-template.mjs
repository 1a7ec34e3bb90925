import { execFileSync } from 'node:child_process';
import pg from 'pg';

const MIGRATE = new URL('../../dist/libs/platform/src/database/migrate.main.js', import.meta.url).pathname;

/** Makes the migrated database that test files clone. Jest calls this once a run. A clone takes a fraction of a migration's time. */
export default async function makeTemplate() {
  const url = new URL(process.env.DATABASE_URL ?? fail());
  url.pathname = '/postgres';
  const admin = new pg.Client({ connectionString: url.toString() });
  await admin.connect();
  await admin.query('drop database if exists pacekeeper_template');
  await admin.query('create database pacekeeper_template');
  await admin.end();
  url.pathname = '/pacekeeper_template';
  execFileSync(process.execPath, [MIGRATE, 'up'], { env: { ...process.env, DATABASE_URL: url.toString() } });
}

function fail() {
  throw new Error('DATABASE_URL is not set: run the tests with npm test');
}
