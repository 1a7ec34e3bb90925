import { connect } from '@nats-io/transport-node';
import { Redis } from 'ioredis';
import pg from 'pg';
import { type Config } from '../config/config.js';
import { migrationNames } from '../database/migrations.js';
import { type Logger } from '../logging/logger.js';

const PATIENCE_MS = 5_000;

/** A server is missing or not fit: said once, with all the others, before anything is started. */
export class ServersUnfit extends Error {
  readonly code = 'SERVERS.UNFIT';
  constructor(readonly problems: readonly string[]) {
    super(problems.join('\n'));
    this.name = 'ServersUnfit';
  }
}

export async function checkServers(config: Config, logger: Logger): Promise<void> {
  const checks = await Promise.allSettled([
    checkPostgres(config.database.url),
    checkRedis(config.redis.url, logger),
    checkNats(config.nats.url, logger),
  ]);
  const problems = checks.flatMap((check) => (check.status === 'rejected' ? [reason(check.reason)] : []));
  if (problems.length > 0) throw new ServersUnfit(problems);
}

async function checkPostgres(url: string): Promise<void> {
  const client = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: PATIENCE_MS,
    query_timeout: PATIENCE_MS,
  });
  // A connection that breaks between connect and end reports it here as well; the awaited call says it.
  client.on('error', () => undefined);
  try {
    await reach('Postgres', url, () => client.connect());
    const { rows } = await client.query<{ server_version: string }>('show server_version');
    requireVersion('Postgres', rows[0]?.server_version ?? '', [14, 0, 0]);
    await requireSchema(client);
  } finally {
    await client.end();
  }
}

/** A newer schema than ours is fine: that is a deployment under way. */
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
    throw new Error(`The database lacks ${missing.join(', ')}: run \`npm run migrate\` first`);
}

async function checkRedis(url: string, logger: Logger): Promise<void> {
  const redis = new Redis(url, {
    lazyConnect: true,
    connectTimeout: PATIENCE_MS,
    commandTimeout: PATIENCE_MS,
    retryStrategy: () => null,
    // Both are questions of its own before ours: a server that says nothing would be waited for three times.
    enableReadyCheck: false,
    disableClientInfo: true,
  });
  let failure: Error | undefined;
  redis.on('error', (error: Error) => (failure = error));
  try {
    const info = await reach(
      'Redis',
      url,
      async () => {
        await redis.connect();
        return redis.info();
      },
      () => failure,
    );
    requireVersion('Redis', field(info, 'redis_version'), [6, 2, 0]);
    const policy = field(info, 'maxmemory_policy');
    // Evicted keys would be queue entries and budget counters: a vendor's limit would be broken without a word.
    if (policy && policy !== 'noeviction' && Number(field(info, 'maxmemory')) > 0)
      throw new Error(`Redis evicts keys (maxmemory-policy ${policy}): set it to noeviction`);
    if (policy && policy !== 'noeviction')
      logger.warn({ policy }, 'redis maxmemory-policy should be noeviction');
  } finally {
    redis.disconnect();
  }
}

async function checkNats(url: string, logger: Logger): Promise<void> {
  const connection = await reach('NATS', url, () =>
    connect({ servers: url, timeout: PATIENCE_MS, reconnect: false }),
  );
  try {
    const version = connection.info?.version ?? '';
    requireVersion('NATS', version, [2, 9, 4]);
    if (!connection.info?.jetstream) throw new Error('NATS runs without JetStream: start it with -js');
    if (compare(parts(version), [2, 10, 23]) < 0)
      logger.warn({ version }, 'nats-server before 2.10.23 can lose a stream when it crashes, update it');
  } finally {
    await connection.close();
  }
}

async function reach<T>(
  server: string,
  url: string,
  connecting: () => Promise<T>,
  clearer: () => Error | undefined = () => undefined,
): Promise<T> {
  try {
    return await connecting();
  } catch (cause) {
    const text = reason(clearer() ?? cause);
    throw new Error(`${server} at ${new URL(url).host} cannot be reached: ${text}`, { cause });
  }
}

type Version = readonly [number, number, number];

function requireVersion(server: string, version: string, least: Version): void {
  if (compare(parts(version), least) >= 0) return;
  throw new Error(`${server} ${version} is too old: ${least.join('.')} or newer is needed`);
}

/** `15.18 (Debian 15.18-0+deb12u1)` → [15, 18, 0] */
function parts(version: string): Version {
  const [major = 0, minor = 0, patch = 0] = (version.split(/[\s-]/)[0] ?? '').split('.').map(Number);
  return [major || 0, minor || 0, patch || 0];
}

function compare(a: Version, b: Version): number {
  return a[0] - b[0] || a[1] - b[1] || a[2] - b[2];
}

function field(info: string, name: string): string {
  return new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(info)?.[1] ?? '';
}

function reason(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return reason(error.errors[0]);
  const { message, code } = error as { message?: string; code?: string };
  return message || code || String(error);
}
