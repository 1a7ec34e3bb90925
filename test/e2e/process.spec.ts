import { once } from 'node:events';
import { Agent } from 'node:http';
import { connect, createServer, type AddressInfo, type Server } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import request from 'supertest';
import { eventually } from '../harness/eventually.js';
import { testEnvironment, tokenFor, type TestEnvironment } from '../harness/environment.js';
import { ProductProcess } from '../harness/process.js';
import { createTestDatabase } from '../harness/test-database.js';

describe('start and stop of a process', () => {
  let environment: TestEnvironment;
  // This start fails after five seconds, so it runs beside the other tests.
  let onSilentServers: Promise<{ at: string; stderr: string }>;
  beforeAll(async () => {
    environment = await testEnvironment();
    onSilentServers = startOnSilentServers();
  });
  afterAll(() => environment?.release());

  /** Starts an api that must refuse to start, and returns its stderr. */
  async function refusal(overrides: Record<string, string | undefined>): Promise<string> {
    const env = { ...environment.env, START_WAIT_SECONDS: '0', ...overrides };
    const started = ProductProcess.spawn('api', env);
    expect(await started.exited()).toBe(1);
    expect(started.stderr).not.toMatch(/\n\s+at /);
    return started.stderr.trim();
  }

  async function startOnSilentServers(): Promise<{ at: string; stderr: string }> {
    // Unread bytes would hide the end of the connection, and the open socket would keep the process of the tests from ending.
    const silent = createServer((socket) => void socket.resume().on('error', () => socket.destroy()));
    silent.listen(0, '127.0.0.1');
    await once(silent, 'listening');
    const at = `127.0.0.1:${(silent.address() as AddressInfo).port}`;
    const stderr = await refusal({
      DATABASE_URL: `postgres://u@${at}/x`,
      REDIS_URL: `redis://${at}`,
      NATS_URL: `nats://${at}`,
    });
    silent.close();
    return { at, stderr };
  }

  it('a process lists every problem of its configuration and exits with 1', async () => {
    const stderr = await refusal({
      DATABASE_URL: undefined,
      JWT_SECRET: 'short',
      DATABSE_URL: 'postgres://x',
    });
    expect(stderr).toBe(
      [
        'api cannot start: Configuration has 3 problems:',
        '  DATABASE_URL: is required',
        '  JWT_SECRET: must have at least 32 characters',
        '  DATABSE_URL: unknown, did you mean DATABASE_URL?',
      ].join('\n'),
    );
  });

  it('a process names every server that it cannot reach, but no password', async () => {
    const stderr = await refusal({
      DATABASE_URL: 'postgres://u:secret-pw@127.0.0.1:9/x',
      REDIS_URL: 'redis://127.0.0.1:9',
      NATS_URL: 'nats://127.0.0.1:9',
    });
    expect(stderr).toMatch(/Postgres at 127\.0\.0\.1:9 cannot be reached: .*ECONNREFUSED/);
    expect(stderr).toMatch(/Redis at 127\.0\.0\.1:9 cannot be reached: .*ECONNREFUSED/);
    expect(stderr).toMatch(/NATS at 127\.0\.0\.1:9 cannot be reached: /);
    expect(stderr).not.toContain('secret-pw');
  });

  it('a process names a database that does not exist', async () => {
    const url = new URL(environment.env.DATABASE_URL ?? '');
    url.pathname = '/no_such_database';
    expect(await refusal({ DATABASE_URL: url.toString() })).toContain(
      'database "no_such_database" does not exist',
    );
  });

  it('a process refuses a database that is not migrated, and names the command', async () => {
    const empty = await createTestDatabase('template0');
    expect(await refusal({ DATABASE_URL: empty.url })).toMatch(
      /^api cannot start: Postgres at \S+ is not ready: The database lacks athlete_0+1.*: run `npm run migrate` first$/,
    );
    await empty.drop();
  });

  it('a process refuses a NATS that is too old, and names both versions', async () => {
    const old = await oldNats('2.8.4');
    expect(await refusal({ NATS_URL: old.url })).toBe(
      'api cannot start: NATS 2.8.4 is too old: 2.9.4 or newer is needed',
    );
    old.server.close();
  });

  it('a process refuses a Redis that evicts keys', async () => {
    const redis = await evictingRedis();
    expect(await refusal({ REDIS_URL: redis.url })).toBe(
      'api cannot start: Redis evicts keys (maxmemory-policy allkeys-lru): set it to noeviction',
    );
    redis.server.close();
  });

  it('a process exits with 1 and names the servers that accept connections but never answer', async () => {
    const { at, stderr } = await onSilentServers;
    for (const name of ['Postgres', 'Redis', 'NATS'])
      expect(stderr).toContain(`${name} at ${at} cannot be reached`);
  });

  it('a process names the port that is already in use', async () => {
    const server = createServer().listen(0, '0.0.0.0');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    expect(await refusal({ PORT: String(port) })).toBe(`api cannot start: port ${port} is already in use`);
    server.close();
  });

  it.each(['SIGTERM', 'SIGINT'] as const)(
    'a process answers its open request before it exits with 0 on %s',
    async (signal) => {
      const api = await ProductProcess.start('api', environment.env);
      const agent = new Agent({ keepAlive: true });
      const client = new pg.Client({ connectionString: environment.env.DATABASE_URL });
      await client.connect();
      // An athlete's first request inserts a row. So it waits while the table is locked.
      await client.query('begin; lock table athlete');
      const waiting = request(api.url)
        .get('/v1/me')
        .agent(agent)
        .set('authorization', `Bearer ${await tokenFor(`waits-through-${signal}`)}`)
        .then((answer) => answer);
      await eventually('the insert waits', async () => (await waiters(client)) === 1);
      api.signal(signal);
      await api.line((line) => line.msg === 'stopping');
      await client.query('commit');
      await client.end();
      expect((await waiting).status).toBe(200);
      expect(await api.exited()).toBe(0);
      agent.destroy();
    },
  );

  it('a process continues after an unhandled promise rejection, and counts it', async () => {
    const api = await ProductProcess.start('api', { ...environment.env, NODE_OPTIONS: THROWS_ON_SIGNAL });
    api.signal('SIGUSR2');
    await api.line((line) => line.msg === 'unhandled promise rejection');
    const { text } = await request(api.url).get('/metrics').expect(200);
    expect(text).toContain('unexpected_errors_total{kind="unhandled_rejection"} 1');
    expect(await api.stop()).toBe(0);
  });

  it('a process with an uncaught exception finishes open requests, answers 503 to readiness, and then exits with 1', async () => {
    const env = { ...environment.env, NODE_OPTIONS: THROWS_ON_SIGNAL, SHUTDOWN_DELAY_SECONDS: '60' };
    const api = await ProductProcess.start('api', env);
    const client = new pg.Client({ connectionString: environment.env.DATABASE_URL });
    await client.connect();
    await client.query('begin; lock table athlete');
    const waiting = request(api.url)
      .get('/v1/me')
      .set('authorization', `Bearer ${await tokenFor('waits-through-an-exception')}`)
      .then((answer) => answer);
    await eventually('the insert waits', async () => (await waiters(client)) === 1);
    api.signal('SIGWINCH');
    await api.line((line) => String(line.msg).startsWith('uncaught exception'));
    const ready = await request(api.url).get('/health/ready');
    expect([ready.status, ready.headers.connection]).toEqual([503, 'close']);
    await client.query('commit');
    await client.end();
    expect((await waiting).status).toBe(200);
    expect(await api.exited()).toBe(1);
  });

  it('a process with an uncaught exception exits within 10 s although a client has not finished its request', async () => {
    const env = { ...environment.env, NODE_OPTIONS: THROWS_ON_SIGNAL, SHUTDOWN_DELAY_SECONDS: '60' };
    const api = await ProductProcess.start('api', env);
    const { hostname, port } = new URL(api.url);
    const slow = connect(Number(port), hostname);
    slow.on('error', () => slow.destroy());
    slow.write('POST /webhooks/oura HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n');
    slow.write('Content-Length: 9\r\n\r\n{');
    await eventually('the client is connected', () => slow.bytesWritten > 0);
    const startedAt = performance.now();
    api.signal('SIGWINCH');
    expect(await api.exited()).toBe(1);
    // 3 s of readiness with 503, then 7 s. The test allows 5 s more, because the machine may be busy. An end on SIGTERM takes up to 25 s.
    expect(performance.now() - startedAt).toBeLessThan(15_000);
    slow.destroy();
  });

  it('one process runs api and worker, each at its own port', async () => {
    const all = await ProductProcess.start('all', environment.env);
    expect(all.urls).toHaveLength(2);
    for (const url of all.urls) {
      await request(url).get('/health/ready').expect(200);
      const { text } = await request(url).get('/metrics').expect(200);
      expect(text).toContain('process_cpu_seconds_total');
    }
    await request(all.urls[1] ?? '')
      .get('/v1/me')
      .expect(404);
    expect(await all.stop()).toBe(0);
  });
});

const THROWS_ON_SIGNAL = `--import ${new URL('../harness/throws-on-signal.mjs', import.meta.url).pathname}`;

async function waiters(client: pg.Client): Promise<number | null> {
  const { rowCount } = await client.query(
    "select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()",
  );
  return rowCount;
}

/** A server that speaks enough of NATS's protocol to report that version. */
async function oldNats(version: string): Promise<{ server: Server; url: string }> {
  const server = createServer((socket) => {
    socket.on('error', () => socket.destroy());
    socket.write(
      `INFO ${JSON.stringify({ server_id: 'old', version, proto: 1, headers: true, max_payload: 1_048_576, jetstream: true })}\r\n`,
    );
    socket.on('data', (bytes) => {
      if (bytes.toString().includes('PING')) socket.write('PONG\r\n');
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { server, url: `nats://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

/** A server that answers INFO like a Redis that is configured as a cache. */
async function evictingRedis(): Promise<{ server: Server; url: string }> {
  const info =
    'redis_version:7.0.15\r\nloading:0\r\nmaxmemory:1073741824\r\nmaxmemory_policy:allkeys-lru\r\n';
  const server = createServer((socket) => {
    socket.on('error', () => socket.destroy());
    socket.on('data', (bytes) => {
      // The server sends one answer per command, because ioredis sends several commands at once.
      for (const command of bytes.toString().match(/\r\n(info|client)\r\n/gi) ?? [])
        socket.write(/info/i.test(command) ? `$${info.length}\r\n${info}\r\n` : '+OK\r\n');
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { server, url: `redis://127.0.0.1:${(server.address() as AddressInfo).port}` };
}
