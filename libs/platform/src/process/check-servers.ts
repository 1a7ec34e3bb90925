import { connect } from '@nats-io/transport-node';
import pg from 'pg';
import { type Config } from '../config/config.js';
import { migrationNames } from '../database/migrations.js';
import { hostsOf } from '../database/postgres-url.js';
import { Primary } from '../database/primary.js';
import {
  POOLER,
  asPoolerFailure,
  requireLimits,
  requireOwnSession,
  SESSION_FACTS,
  type SessionFacts,
} from '../database/postgres-fitness.js';
import { type Logger } from '../logging/logger.js';
import { mayLose, requireSafeNats, serverOptions } from '../nats/connect.js';
import { checkRedis } from '../redis/check-redis.js';
import { redisHosts } from '../redis/redis-url.js';
import { reasonOf, requireVersion, ServerNotReady, ServerUnfit } from './server-failure.js';
import { type ServerWait, waitForServer } from './wait-for-server.js';

// Long, because a starting process and its machine are busy.
const ATTEMPT_TIMEOUT_MS = 5_000;

/** Servers are missing or unfit. One error names all of them. */
export class ServersUnfit extends Error {
  readonly code = 'SERVERS_UNFIT';
  constructor(readonly problems: readonly string[]) {
    super(problems.join('\n'));
    this.name = 'ServersUnfit';
  }
}

/**
 * Checks Postgres, Redis and NATS at the start. Waits at most `config.startWaitMs` for each server. If one server is unfit, it stops
 * waiting for the others.
 */
export async function checkServers(config: Config, logger: Logger): Promise<void> {
  const unfit = new AbortController();
  const check = async (server: string, at: string, attempt: () => Promise<void>) => {
    const wait: ServerWait = { server, at, logger, waitMs: config.startWaitMs, signal: unfit.signal };
    try {
      await waitForServer(wait, attempt);
    } catch (error) {
      unfit.abort();
      throw error;
    }
  };
  const { database, redis, nats } = config;
  const checks = await Promise.allSettled([
    check('Postgres', hostsOf(database.url), () => checkPostgres(database)),
    check('Redis', redisHosts(redis.url), () => checkRedis(redis.url, ATTEMPT_TIMEOUT_MS, logger)),
    check('NATS', nats.urls.map(hostOf).join(','), () => checkNats(nats, logger)),
  ]);
  const problems = checks.flatMap((one) => (one.status === 'rejected' ? [reasonOf(one.reason)] : []));
  if (problems.length > 0) throw new ServersUnfit(problems);
}

const hostOf = (url: string) => new URL(url).host;

// No database role has this unusual value, so the check recognises its own setting.
const PROBE_TIMEOUT_MS = 4_321;

async function checkPostgres({ url, directUrl }: Config['database']): Promise<void> {
  const direct = await new Primary(directUrl ?? url).find();
  const database = await withPostgres(direct, true, async (client) => {
    const facts = await factsOf(client);
    requireOwnSession(facts, PROBE_TIMEOUT_MS);
    const { rows } = await client.query<{ server_version: string }>('show server_version');
    requireVersion('Postgres', rows[0]?.server_version ?? '', [14, 0, 0]);
    await requireOwnBackend(direct, client);
    await requireSchema(client);
    return databaseOf(client);
  });
  if (!directUrl) return;
  await withPostgres(await new Primary(url).find(), false, async (client) => {
    requireLimits(await factsOf(client));
    if ((await databaseOf(client)) !== database)
      throw new ServerUnfit(
        'DATABASE_DIRECT_URL leads to another database than DATABASE_URL: name the same one',
      );
  });
}

/** Returns a name that differs between any two databases, also of different clusters. */
async function databaseOf(client: pg.Client): Promise<string | undefined> {
  const { rows } = await client.query<{ name: string }>(
    "select system_identifier || ' ' || current_database() as name from pg_control_system()",
  );
  return rows[0]?.name;
}

async function factsOf(client: pg.Client): Promise<SessionFacts | undefined> {
  return (await client.query<SessionFacts>(SESSION_FACTS)).rows[0];
}

/**
 * Detects a pooler that keeps our settings but not our prepared statements. Behind such a pooler, two connections share one server process.
 */
async function requireOwnBackend(url: string, first: pg.Client): Promise<void> {
  await withPostgres(url, true, async (second) => {
    const [one, other] = [await factsOf(first), await factsOf(second)];
    if (one?.backend === other?.backend) throw new ServerUnfit(POOLER);
  });
}

/** `isOwn`: the session gets a setting of ours, which a pooler would refuse or drop. */
async function withPostgres<T>(
  url: string,
  isOwn: boolean,
  work: (client: pg.Client) => Promise<T>,
): Promise<T> {
  const client = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: ATTEMPT_TIMEOUT_MS,
    query_timeout: ATTEMPT_TIMEOUT_MS,
    ...(isOwn ? { statement_timeout: PROBE_TIMEOUT_MS } : {}),
  });
  // A connection that breaks rejects the awaited call and also emits `error`. Without a listener, this event would end the process.
  client.on('error', () => undefined);
  try {
    await client.connect();
    return await work(client);
  } catch (error) {
    throw asPoolerFailure(error);
  } finally {
    // Not awaited, because a frozen server would not answer.
    client.end().catch(() => undefined);
  }
}

/**
 * Accepts migrations that this version does not know: during a deployment the schema may be newer. A missing migration may be under way: a
 * deployment may start the migration and the processes at the same time.
 */
async function requireSchema(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ exists: boolean }>(
    "select to_regclass('schema_migration') is not null as exists",
  );
  const applied = rows[0]?.exists
    ? await client.query<{ name: string }>('select name from schema_migration')
    : { rows: [] };
  const names = new Set(applied.rows.map(({ name }) => name));
  const missing = migrationNames().filter((name) => !names.has(name));
  if (missing.length > 0)
    throw new ServerNotReady(`The database lacks ${missing.join(', ')}: run \`npm run migrate\` first`);
}

async function checkNats(nats: Config['nats'], logger: Logger): Promise<void> {
  const connection = await connect({ ...serverOptions(nats), timeout: ATTEMPT_TIMEOUT_MS, reconnect: false });
  try {
    const { info } = connection;
    requireSafeNats(info ?? {}, nats.replicas);
    if (mayLose(info?.version ?? ''))
      logger.warn(
        { version: info?.version },
        'nats-server before 2.10.23 can lose a stream when it crashes, update it',
      );
  } finally {
    await connection.close();
  }
}
