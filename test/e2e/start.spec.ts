import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import request from 'supertest';
import { eventually } from '../harness/eventually.js';
import { testEnvironment, type TestEnvironment } from '../harness/environment.js';
import { NatsServer } from '../harness/nats-server.js';
import { hasPgBouncer, PgBouncer } from '../harness/pgbouncer.js';
import { ProductProcess } from '../harness/process.js';
import { Proxy } from '../harness/proxy.js';
import { RedisServer } from '../harness/redis-server.js';

// The number of connections that the check at the start makes to each server.
const CHECKED = { Postgres: 2, Redis: 1, NATS: 1 } as const;
type Server = keyof typeof CHECKED;
const SERVERS = Object.keys(CHECKED) as Server[];

const MIGRATE = 'dist/libs/platform/src/database/migrate.main.js';
const REREAD = 'dist/libs/sleep/src/reread/reread.main.js';

describe('a process that starts', () => {
  let environment: TestEnvironment;
  let proxies: Record<Server, Proxy>;
  let behindProxies: Record<string, string>;
  beforeAll(async () => {
    environment = await testEnvironment();
    const { DATABASE_URL = '', REDIS_URL = '', NATS_URL = '' } = environment.env;
    proxies = {
      Postgres: await Proxy.before(DATABASE_URL),
      Redis: await Proxy.before(REDIS_URL),
      NATS: await Proxy.before(NATS_URL),
    };
    behindProxies = {
      ...environment.env,
      DATABASE_URL: proxies.Postgres.url,
      REDIS_URL: proxies.Redis.url,
      NATS_URL: proxies.NATS.url,
    };
  });
  // So that a test that fails does not fail the next ones.
  afterEach(() => Object.values(proxies).forEach((proxy) => proxy.heal()));
  afterAll(async () => {
    await Promise.all(Object.values(proxies).map((proxy) => proxy.close()));
    await environment?.release();
  });

  it.each([['Postgres'], ['NATS']] as const)(
    'a process logs that it waits if %s freezes between the check and the connection, and starts once the server is back',
    async (server) => {
      proxies[server].freezeAfter(CHECKED[server]);
      const all = ProductProcess.spawn('all', behindProxies);
      await all.line(({ msg }) => msg.startsWith(`waiting for ${server} at 127.0.0.1:`));
      proxies[server].heal();
      await all.line(({ msg }) => msg === 'ready');
      expect(await all.stop()).toBe(0);
      expect(all.stderr).toBe('');
    },
  );

  it('a process logs that it waits for a Redis that is away at its start, and starts once Redis is back', async () => {
    proxies.Redis.cut();
    const all = ProductProcess.spawn('all', behindProxies);
    await all.line(({ msg }) => msg.startsWith('waiting for Redis at 127.0.0.1:'));
    proxies.Redis.heal();
    await all.line(({ msg }) => msg === 'ready');
    await request(all.url).get('/health/ready').expect(200);
    expect(await all.stop()).toBe(0);
    expect(all.stderr).toBe('');
  });

  it('a process that finds Redis frozen after the check starts once Redis is back', async () => {
    const before = proxies.Redis.connectionCount;
    proxies.Redis.freezeAfter(CHECKED.Redis);
    const all = ProductProcess.spawn('all', behindProxies);
    await eventually(
      'a connection after the check',
      () => proxies.Redis.connectionCount > before + CHECKED.Redis,
    );
    proxies.Redis.heal();
    await all.line(({ msg }) => msg === 'ready');
    expect(await all.stop()).toBe(0);
    expect(all.stderr).toBe('');
  });

  it('a process whose server freezes after the check exits with one sentence and no stack', async () => {
    for (const server of SERVERS) proxies[server].freezeAfter(CHECKED[server]);
    const worker = ProductProcess.spawn('worker', { ...behindProxies, START_WAIT_SECONDS: '0' });
    expect(await worker.exited()).toBe(1);
    expect(worker.stderr.trim().split('\n')).toEqual([expect.stringMatching(/^worker cannot start: .+/)]);
    for (const server of SERVERS) proxies[server].heal();
  });

  it('the tools wait for a Postgres or NATS that does not answer, say so in lines without a stack, and run once the server is back', async () => {
    const { DATABASE_URL, NATS_URL } = behindProxies;
    proxies.Postgres.freezeAfter(0);
    proxies.NATS.freezeAfter(0);
    const migrate = runTool({ DATABASE_URL }, MIGRATE, 'up');
    const reread = runTool({ DATABASE_URL, NATS_URL }, REREAD, '--from', new Date().toISOString());
    // Each new reason is a line.
    await migrate.says(/^(migrate: waiting for Postgres at 127\.0\.0\.1:\d+: .+\n)+$/);
    proxies.Postgres.heal();
    await reread.says(
      /^(reread: waiting for Postgres at .+\n)*(reread: waiting for NATS at 127\.0\.0\.1:\d+: .+\n)+$/,
    );
    proxies.NATS.heal();
    expect([await migrate.exited, await reread.exited]).toEqual([0, 0]);
  });

  it('a process that waits for a server exits with 0 on SIGTERM', async () => {
    proxies.Redis.freezeAfter(0);
    const api = ProductProcess.spawn('api', { ...behindProxies, START_WAIT_SECONDS: '3600' });
    await api.line(({ msg }) => msg.startsWith('waiting for Redis'));
    expect(await api.stop()).toBe(0);
    proxies.Redis.heal();
  });

  it('readiness answers 503 if Redis, Postgres and NATS are replaced by unsupported servers while the process runs, and gives reasons', async () => {
    const [cluster, pooler, nats] = await Promise.all([
      RedisServer.startClusterNode(),
      hasPgBouncer
        ? PgBouncer.before(
            environment.env.DATABASE_URL ?? '',
            'ignore_startup_parameters = statement_timeout,idle_in_transaction_session_timeout',
          )
        : undefined,
      NatsServer.start('jetstream: disabled'),
    ]);
    const api = await ProductProcess.start('api', behindProxies);
    proxies.Redis.moveTo(cluster.url);
    proxies.NATS.moveTo(nats.url);
    if (pooler) proxies.Postgres.moveTo(pooler.url);
    const isExplained = async () => {
      const { status, body } = await request(api.url).get('/health/ready');
      const { redis, postgres, nats: bus } = body.details;
      return (
        status === 503 &&
        /is a node of a Cluster/.test(redis.message) &&
        (!pooler || /connection pooler in front of Postgres/.test(postgres.message)) &&
        /NATS runs without JetStream/.test(bus.message)
      );
    };
    await eventually('all are named', isExplained);
    expect(await api.stop()).toBe(0);
    await Promise.all([cluster.kill(), pooler?.stop(), nats.stop()]);
  });
});

/** Starts a tool. `says` waits until its stderr fits. */
function runTool(env: Readonly<Record<string, string | undefined>>, ...args: readonly string[]) {
  const { PATH } = process.env;
  const child = spawn(process.execPath, args, { env: { PATH, ...env }, stdio: ['ignore', 'ignore', 'pipe'] });
  let stderr = '';
  child.stderr.on('data', (bytes: Buffer) => (stderr += bytes.toString()));
  return {
    says: (line: RegExp) => eventually(`stderr fits ${line}`, () => line.test(stderr)),
    exited: once(child, 'close').then(([code]) => code as number | null),
  };
}
