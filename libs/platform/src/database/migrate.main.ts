import 'reflect-metadata';
import pg from 'pg';
import { environment } from '../config/environment.js';
import { createToolLogger } from '../logging/logger.js';
import { waitForServer } from '../process/wait-for-server.js';
import { migrateDown, migrateUp } from './migrate.js';
import { hostsOf, serversOf } from './postgres-url.js';
import { Primary } from './primary.js';

const USAGE =
  'usage: migrate up | down   (DATABASE_URL names the database, DATABASE_DIRECT_URL the same one if that is a pooler)';
const ATTEMPT_TIMEOUT_MS = 5_000;

async function main(direction: string | undefined, url: string | undefined): Promise<string> {
  if (!url) throw new Error('DATABASE_URL: is required');
  if (serversOf(url).length === 0) throw new Error('DATABASE_URL: must be a URL starting with postgres://');
  if (direction !== 'up' && direction !== 'down') throw new Error(USAGE);
  const waited = environment.START_WAIT_SECONDS.safeParse(process.env.START_WAIT_SECONDS || undefined);
  if (!waited.success) throw new Error(`START_WAIT_SECONDS: ${waited.error.issues[0]?.message}`);
  await waitForPostgres(url, waited.data * 1_000);
  if (direction === 'up')
    return report('applied', await migrateUp(url), 'nothing to apply, the schema is current');
  return report('reverted', await migrateDown(url), 'nothing to revert');
}

/** Only the connection is tried again, because a migration that fails would fail again. */
async function waitForPostgres(url: string, waitMs: number): Promise<void> {
  const wait = { server: 'Postgres', at: hostsOf(url), waitMs, logger: createToolLogger('migrate') };
  await waitForServer(wait, async () => {
    const connectionString = await new Primary(url).find();
    const client = new pg.Client({ connectionString, connectionTimeoutMillis: ATTEMPT_TIMEOUT_MS });
    // A connection that breaks also emits `error`. Without a listener, this event would end the process.
    client.on('error', () => undefined);
    await client.connect();
    await client.end();
  });
}

function report(verb: string, names: readonly string[], none: string): string {
  return names.length === 0 ? none : names.map((name) => `${verb} ${name}`).join('\n');
}

try {
  // A pooler would share the session that holds the lock of the migrations.
  const { DATABASE_URL, DATABASE_DIRECT_URL } = process.env;
  console.log(await main(process.argv[2], DATABASE_DIRECT_URL || DATABASE_URL));
} catch (error) {
  console.error(`migrate: ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 1;
}
