import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { cpus, loadavg, totalmem } from 'node:os';
import { Redis } from 'ioredis';
import pg from 'pg';
import { connectNats } from '../libs/platform/src/nats/connect.js';

/** The machine, the servers and the load under which a benchmark ran. */
export interface Conditions {
  readonly at: string;
  readonly machine: {
    readonly cpu: string;
    readonly cores: number;
    readonly memoryGb: number;
    /** The load averages of 1, 5 and 15 minutes when the benchmark began. Above the number of cores, other programs took part of the machine. */
    readonly loadAtStart: readonly number[];
  };
  /** Node, the three servers, and the packages that the benchmark compares with. */
  readonly versions: Readonly<Record<string, string>>;
  readonly settings: Readonly<Record<string, string>>;
}

// Read when the benchmark begins: its own load would hide that of other programs.
const at = new Date().toISOString();
const loadAtStart = loadavg().map((load) => Number(load.toFixed(2)));

const POSTGRES_SETTINGS = [
  'fsync',
  'synchronous_commit',
  'full_page_writes',
  'wal_compression',
  'shared_buffers',
  'max_wal_size',
  'checkpoint_timeout',
  'jit',
];
const REDIS_SETTINGS = ['appendonly', 'appendfsync', 'save', 'maxmemory-policy'];

/** `peers`: names of the npm packages that the benchmark compares with. */
export async function conditionsWith(peers: readonly string[]): Promise<Conditions> {
  const [postgres, redis, nats] = await Promise.all([ofPostgres(), ofRedis(), versionOfNats()]);
  return {
    at,
    machine: {
      cpu: cpus()[0]?.model ?? 'unknown',
      cores: cpus().length,
      memoryGb: Math.round(totalmem() / 2 ** 30),
      loadAtStart,
    },
    versions: {
      node: process.versions.node,
      postgres: postgres.version,
      redis: redis.version,
      nats,
      ...Object.fromEntries(peers.map((name) => [name, versionOf(name)])),
    },
    settings: { ...postgres.settings, ...redis.settings },
  };
}

interface Server {
  readonly version: string;
  readonly settings: Readonly<Record<string, string>>;
}

async function ofPostgres(): Promise<Server> {
  const client = new pg.Client({ connectionString: process.env.DATABASE_URL });
  await client.connect();
  const { rows } = await client.query<{ name: string; value: string }>(
    `select name, current_setting(name) as value from pg_settings where name = any ($1)`,
    [[...POSTGRES_SETTINGS, 'server_version']],
  );
  await client.end();
  const all = new Map(rows.map(({ name, value }) => [name, value]));
  const settings = POSTGRES_SETTINGS.map((name) => [`postgres ${name}`, all.get(name) ?? 'unknown']);
  return {
    version: all.get('server_version')?.split(' ')[0] ?? 'unknown',
    settings: Object.fromEntries(settings) as Record<string, string>,
  };
}

async function ofRedis(): Promise<Server> {
  const redis = new Redis(process.env.REDIS_URL ?? '');
  const [info, ...values] = await Promise.all([
    redis.info('server'),
    ...REDIS_SETTINGS.map((name) => redis.config('GET', name) as Promise<[string, string]>),
  ]);
  redis.disconnect();
  const settings = values.map(([name, value]) => [`redis ${name}`, value || 'none']);
  return {
    version: /redis_version:(\S+)/.exec(info)?.[1] ?? 'unknown',
    settings: Object.fromEntries(settings) as Record<string, string>,
  };
}

async function versionOfNats(): Promise<string> {
  const connection = await connectNats(process.env.NATS_URL ?? '', 'bench');
  const { info } = connection;
  await connection.close();
  return info?.version ?? 'unknown';
}

/** Packages that only the benchmarks need may stand below .cache, see bin/bench.mjs. */
export const peersFolder = process.env.BENCH_PEERS ?? '';

function versionOf(name: string): string {
  const from = createRequire(new URL('file:///' + process.cwd() + '/package.json'));
  const places = [...(from.resolve.paths(name) ?? []), `${peersFolder}/node_modules`];
  for (const place of places) {
    const version = versionIn(`${place}/${name}/package.json`);
    if (version) return version;
  }
  return 'not installed';
}

function versionIn(file: string): string | undefined {
  try {
    return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}
