import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { DataSource } from 'typeorm';
import { eventually } from '../../../../test/harness/eventually.js';
import { freePort } from '../../../../test/harness/free-port.js';
import { NatsServer } from '../../../../test/harness/nats-server.js';
import { hasPgBouncer, PgBouncer } from '../../../../test/harness/pgbouncer.js';
import { Proxy } from '../../../../test/harness/proxy.js';
import { RedisServer } from '../../../../test/harness/redis-server.js';
import { required } from '../../../../test/harness/servers.js';
import { createTestDatabase, type TestDatabase } from '../../../../test/harness/test-database.js';
import { type Config } from '../config/config.js';
import { loadConfig } from '../config/load-config.js';
import { Database, poolOf } from '../database/database.js';
import { dataSourceOptions } from '../database/data-source-options.js';
import { probePostgres, requireOwnSession } from '../database/postgres-fitness.js';
import { Primary } from '../database/primary.js';
import { DependencyUnavailable } from '../errors/app-error.js';
import { createLogger, type Logger } from '../logging/logger.js';
import { createRedis } from '../redis/redis.js';
import { probeRedis } from '../redis/redis-fitness.js';
import { checkServers, ServersUnfit } from './check-servers.js';
import { ServerUnfit } from './server-failure.js';

const silent = createLogger({ level: 'silent', process: 'test' });

describe('the check at the start', () => {
  let database: TestDatabase;
  const folder = mkdtempSync(join(tmpdir(), 'check-servers-'));
  const redis: Partial<Record<'cluster' | 'sentinel' | 'replica' | 'alone', RedisServer>> = {};
  beforeAll(async () => {
    database = await createTestDatabase();
    const { hostname, port, password } = new URL(required('REDIS_URL'));
    const sentinel = join(folder, 'sentinel.conf');
    writeFileSync(sentinel, `dir ${folder}\nsentinel monitor main ${hostname} ${port} 1\n`);
    [redis.cluster, redis.sentinel, redis.replica, redis.alone] = await Promise.all([
      RedisServer.startClusterNode(),
      RedisServer.start(sentinel, '--sentinel'),
      RedisServer.start('--replicaof', hostname, port, ...(password ? ['--masterauth', password] : [])),
      RedisServer.start(),
    ]);
  });
  afterAll(async () => {
    await Promise.all(Object.values(redis).map((server) => server.kill()));
    await database.drop();
    rmSync(folder, { recursive: true });
  });

  function configured(overrides: Record<string, string>): Config {
    return loadConfig(
      {
        DATABASE_URL: database.url,
        REDIS_URL: required('REDIS_URL'),
        NATS_URL: required('NATS_URL'),
        JWT_SECRET: 'x'.repeat(32),
        ENCRYPTION_KEYS: `1:${Buffer.alloc(32, 7).toString('base64')}`,
        START_WAIT_SECONDS: '0',
        ...overrides,
      },
      {},
    );
  }

  async function problems(
    overrides: Record<string, string>,
    logger: Logger = silent,
  ): Promise<readonly string[]> {
    try {
      await checkServers(configured(overrides), logger);
    } catch (error) {
      if (error instanceof ServersUnfit) return error.problems;
      throw error;
    }
    return [];
  }

  it('checkServers accepts one single server of each kind', async () => {
    expect(await problems({})).toEqual([]);
  });

  it.each([
    [
      'a node of a Redis Cluster',
      'cluster',
      'This Redis is a node of a Cluster: write REDIS_URL as redis+cluster://',
    ],
    ['a Redis Sentinel', 'sentinel', 'This is a Redis Sentinel, not a Redis'],
    ['a Redis replica', 'replica', 'This Redis is a replica: name its master'],
  ] as const)(
    'checkServers refuses %s, and so does probeRedis after a reconnect',
    async (_, kind, sentence) => {
      const url = redis[kind]?.url ?? '';
      expect(await problems({ REDIS_URL: url })).toEqual([expect.stringContaining(sentence)]);

      const proxy = await Proxy.before(redis.alone?.url ?? '');
      const client = createRedis({ url: proxy.url, keyPrefix: 'test:' }, silent);
      await probeRedis(client);
      proxy.moveTo(url);
      const refusal = () =>
        probeRedis(client).then(
          () => '',
          ({ message }: Error) => message,
        );
      await eventually('the refusal', async () => (await refusal()).includes(sentence));
      client.disconnect();
      await proxy.close();
    },
  );

  it('checkServers accepts the master that a Sentinel names', async () => {
    const { username, password } = new URL(required('REDIS_URL'));
    const url = `redis+sentinel://${username}:${password}@${hostOf(redis.sentinel)}/main`;
    expect(await problems({ REDIS_URL: url })).toEqual([]);
  });

  it('checkServers names a wrong master, a Redis in place of a Sentinel, a Redis in place of a Cluster, and a Cluster without slots', async () => {
    const sentences = {
      [`redis+sentinel://${hostOf(redis.sentinel)}/another`]: 'The Sentinels do not know the master',
      [`redis+sentinel://${hostOf(redis.alone)}/main`]:
        'REDIS_URL names a Redis where a Sentinel is expected',
      [`redis+cluster://${hostOf(redis.alone)}`]: 'This Redis is not a Cluster',
      [`redis+cluster://127.0.0.1:9,${hostOf(redis.cluster)}`]:
        'is not ready: the Cluster does not serve all slots',
    };
    for (const [url, sentence] of Object.entries(sentences))
      expect(await problems({ REDIS_URL: url })).toEqual([expect.stringContaining(sentence)]);
  });

  it('probeRedis refuses a Redis that answers PING and takes no writes', async () => {
    const full = await RedisServer.start('--maxmemory', '100kb');
    const client = createRedis({ url: full.url, keyPrefix: 'test:' }, silent);
    await expect(probeRedis(client)).rejects.toThrow(/OOM/);
    expect(await client.ping()).toBe('PONG');
    client.disconnect();
    await full.kill();
  });

  (hasPgBouncer ? it : it.skip)(
    'checkServers refuses a transaction pooler, also a pooler that ignores our settings (skipped without pgbouncer)',
    async () => {
      const asItComes = await PgBouncer.before(database.url);
      const ignoring = await PgBouncer.before(
        database.url,
        'ignore_startup_parameters = statement_timeout, idle_in_transaction_session_timeout',
      );
      for (const { url } of [asItComes, ignoring])
        expect(await problems({ DATABASE_URL: url })).toEqual([
          expect.stringContaining('There is a connection pooler in front of Postgres'),
        ]);
      await Promise.all([asItComes.stop(), ignoring.stop()]);
    },
  );

  (hasPgBouncer ? it : it.skip)(
    'checkServers refuses a pooler that keeps our settings and shares its connections (skipped without pgbouncer)',
    async () => {
      const generous = await PgBouncer.before(database.url, 'ignore_startup_parameters = statement_timeout');
      // Imitates a pooler that passes on the settings of each client.
      const owner = new pg.Client({ connectionString: database.url });
      await owner.connect();
      const name = new URL(database.url).pathname.slice(1);
      await owner.query(`alter database "${name}" set statement_timeout = 4321`);
      expect(await problems({ DATABASE_URL: generous.url })).toEqual([
        expect.stringContaining('There is a connection pooler in front of Postgres'),
      ]);
      await owner.query(`alter database "${name}" reset statement_timeout`);
      await owner.end();
      await generous.stop();
    },
  );

  (hasPgBouncer ? it : it.skip)(
    'checkServers accepts a pooler with DATABASE_DIRECT_URL, if the role has limits and both lead to the same database (skipped without pgbouncer)',
    async () => {
      const owner = new pg.Client({ connectionString: database.url });
      await owner.connect();
      const name = new URL(database.url).pathname.slice(1);
      const [pooler, other] = await Promise.all([PgBouncer.before(database.url), createTestDatabase()]);
      const urls = { DATABASE_URL: pooler.url, DATABASE_DIRECT_URL: database.url };
      expect(await problems(urls)).toEqual([expect.stringContaining("set statement_timeout = '30s'")]);
      // A setting of the database counts like one of the role. New connections of the pooler have it.
      for (const setting of ['statement_timeout', 'idle_in_transaction_session_timeout'])
        await owner.query(`alter database "${name}" set ${setting} = '30s'`);
      await pooler.stop();
      const again = await PgBouncer.before(database.url);
      expect(await problems({ ...urls, DATABASE_URL: again.url })).toEqual([]);
      expect(await problems({ DATABASE_URL: again.url, DATABASE_DIRECT_URL: other.url })).toEqual([
        expect.stringContaining('DATABASE_DIRECT_URL leads to another database'),
      ]);
      for (const setting of ['statement_timeout', 'idle_in_transaction_session_timeout'])
        await owner.query(`alter database "${name}" reset ${setting}`);
      await owner.end();
      await Promise.all([again.stop(), other.drop()]);
    },
  );

  it('checkServers refuses a read-only Postgres', async () => {
    const owner = new pg.Client({ connectionString: database.url });
    await owner.connect();
    const name = new URL(database.url).pathname.slice(1);
    await owner.query(`alter database "${name}" set default_transaction_read_only = on`);
    expect(await problems({})).toEqual([expect.stringContaining('This Postgres is read-only')]);
    await owner.query('set default_transaction_read_only = off');
    await owner.query(`alter database "${name}" reset default_transaction_read_only`);
    await owner.end();
  });

  it('probePostgres refuses a Postgres that becomes read-only while the process runs, and no statement runs on a new connection to it', async () => {
    const made = await createTestDatabase();
    const limits = { applicationName: 'test', poolSize: 1, statementTimeoutMs: 10_000 };
    const primary = new Primary(made.url);
    const options = dataSourceOptions(made.url, limits, () => undefined, { primary });
    const dataSource = await new DataSource(options).initialize();
    const running = new Database(poolOf(dataSource), { primary });
    const probe = () =>
      probePostgres(running, (facts) => requireOwnSession(facts, limits.statementTimeoutMs));
    const sentence = /This Postgres is read-only/;
    await probe();

    // The connection stays, as with a server that a fail-over manager stops from writing.
    await running.query('set default_transaction_read_only = on');
    await expect(probe()).rejects.toThrow(sentence);
    await running.query('set default_transaction_read_only = off');
    await probe();

    // Each new connection is read-only, as after a fail-over that moved the address to a standby.
    const owner = new pg.Client({ connectionString: made.url });
    await owner.connect();
    const name = new URL(made.url).pathname.slice(1);
    await owner.query(`alter database "${name}" set default_transaction_read_only = on`);
    await owner.query(
      "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and application_name = 'test'",
    );
    await eventually('no statement runs', async () => {
      const failure = await running.query('select 1').then(
        () => undefined,
        (error: unknown) => error,
      );
      return failure instanceof DependencyUnavailable && failure.cause instanceof ServerUnfit;
    });
    await expect(probe()).rejects.toThrow(sentence);

    await owner.query('set default_transaction_read_only = off');
    await owner.query(`alter database "${name}" reset default_transaction_read_only`);
    await owner.end();
    await eventually('the probe passes', () =>
      probe().then(
        () => true,
        () => false,
      ),
    );
    await dataSource.destroy();
    await made.drop();
  });

  it('checkServers refuses NATS before 2.10.23 in a cluster, and warns if it is a single server', async () => {
    const [old, oldCluster, newCluster] = await Promise.all([
      fakeNats({ version: '2.10.22' }),
      fakeNats({ version: '2.10.22', cluster: 'C' }),
      fakeNats({ version: '2.10.23', cluster: 'C' }),
    ]);
    const said: string[] = [];
    const logger = {
      ...silent,
      warn: (_: unknown, text: string) => void said.push(text),
    } as unknown as Logger;
    expect(await problems({ NATS_URL: oldCluster.url })).toEqual([
      'NATS 2.10.22 runs in a cluster, and before 2.10.23 a cluster loses acknowledged messages: update it',
    ]);
    expect(await problems({ NATS_URL: old.url }, logger)).toEqual([]);
    expect(said).toEqual([expect.stringContaining('before 2.10.23 can lose a stream')]);
    expect(await problems({ NATS_URL: newCluster.url })).toEqual([]);
    for (const { server } of [old, oldCluster, newCluster]) server.close();
  });

  it('checkServers refuses replicas on a single NATS server, together with the problems of other servers', async () => {
    const found = await problems({ NATS_REPLICAS: '3', REDIS_URL: redis.replica?.url ?? '' });
    expect(found).toEqual([
      expect.stringContaining('This Redis is a replica'),
      'NATS runs as a single server, and NATS_REPLICAS is 3: set it to 1, or name a cluster of at least 3 servers in NATS_URL',
    ]);
  });

  it('checkServers refuses a real NATS cluster node only for its version', async () => {
    const route = await freePort();
    const node = await NatsServer.start(
      `server_name: a\ncluster { name: C, host: "127.0.0.1", port: ${route}, routes: ["nats://127.0.0.1:${route}"] }`,
    );
    const found = await problems({ NATS_URL: node.url });
    // Servers from 2.10.23 on are accepted in a cluster.
    expect(found.every((problem) => /runs in a cluster/.test(problem))).toBe(true);
    await node.stop();
  });

  it('checkServers waits for servers that refuse connections, logs which and why, and passes when they answer', async () => {
    const proxies = await Promise.all(
      [database.url, required('REDIS_URL'), required('NATS_URL')].map((url) => Proxy.before(url)),
    );
    const [postgres, cache, nats] = proxies as [Proxy, Proxy, Proxy];
    const said: string[] = [];
    let all: () => void = () => undefined;
    const allLogged = new Promise<void>((resolve) => (all = resolve));
    const warn = (_: unknown, text: string) => {
      said.push(text);
      if (
        ['Postgres', 'Redis', 'NATS'].every((name) =>
          said.some((line) => line.includes(`waiting for ${name} at`)),
        )
      )
        all();
    };
    for (const proxy of proxies) proxy.cut();
    const urls = { DATABASE_URL: postgres.url, REDIS_URL: cache.url, NATS_URL: nats.url };
    const checking = checkServers(configured({ ...urls, START_WAIT_SECONDS: '120' }), {
      ...silent,
      warn,
    } as unknown as Logger);
    await allLogged;
    for (const proxy of proxies) proxy.heal();
    await checking;
    const at = new URL(postgres.url).host;
    expect(said).toContainEqual(expect.stringMatching(new RegExp(`^waiting for Postgres at ${at}: .+`)));
    await Promise.all(proxies.map((proxy) => proxy.close()));
  });

  it('checkServers waits for a missing migration, names it, and passes when it is applied', async () => {
    const owner = new pg.Client({ connectionString: database.url });
    await owner.connect();
    const { rows } = await owner.query<{ id: number; timestamp: string; name: string }>(
      'delete from schema_migration where id = (select max(id) from schema_migration) returning *',
    );
    const [{ id, timestamp, name } = { id: 0, timestamp: '', name: '' }] = rows;
    const missing = `The database lacks ${name}: run \`npm run migrate\` first`;
    const at = new URL(database.url).host;
    expect(await problems({})).toEqual([`Postgres at ${at} is not ready: ${missing}`]);

    let logged: (text: string) => void = () => undefined;
    const waiting = new Promise<string>((resolve) => (logged = resolve));
    const warn = (_: unknown, text: string) => void (text.startsWith('waiting for') && logged(text));
    const checking = checkServers(configured({ START_WAIT_SECONDS: '120' }), {
      ...silent,
      warn,
    } as unknown as Logger);
    expect(await waiting).toBe(`waiting for Postgres at ${at}: ${missing}`);
    await owner.query('insert into schema_migration (id, timestamp, name) values ($1, $2, $3)', [
      id,
      timestamp,
      name,
    ]);
    await owner.end();
    await checking;
  });

  it('checkServers fails at once for an unfit server, and stops waiting for the others', async () => {
    const wrong = new URL(database.url);
    wrong.password = 'wrong';
    const found = await problems({
      DATABASE_URL: wrong.toString(),
      REDIS_URL: 'redis://127.0.0.1:9',
      START_WAIT_SECONDS: '3600',
    });
    expect(found).toEqual([
      expect.stringMatching(/^Postgres at .* cannot be reached: password authentication failed/),
      expect.stringMatching(/^Redis at 127\.0\.0\.1:9 cannot be reached: /),
    ]);
  });
});

const hostOf = (server: RedisServer | undefined) => new URL(server?.url ?? '').host;

/** A server that speaks enough of the NATS protocol for a client to connect. */
async function fakeNats(info: object): Promise<{ server: Server; url: string }> {
  const server = createServer((socket) => {
    socket.on('error', () => socket.destroy());
    const all = { server_id: 'x', proto: 1, headers: true, max_payload: 1_048_576, jetstream: true, ...info };
    socket.write(`INFO ${JSON.stringify(all)}\r\n`);
    socket.on('data', (bytes) => {
      if (bytes.toString().includes('PING')) socket.write('PONG\r\n');
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { server, url: `nats://127.0.0.1:${(server.address() as AddressInfo).port}` };
}
