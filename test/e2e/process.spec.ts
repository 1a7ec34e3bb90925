import { once } from 'node:events';
import { Agent } from 'node:http';
import { createServer, type AddressInfo, type Server } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import request from 'supertest';
import { eventually } from '../harness/eventually.js';
import { testEnvironment, tokenFor, type TestEnvironment } from '../harness/environment.js';
import { ProductProcess } from '../harness/process.js';
import { createTestDatabase } from '../harness/test-database.js';

describe('a process', () => {
  let environment: TestEnvironment;
  // Five seconds of patience, which the other tests use.
  let givenUp: Promise<{ at: string; told: string }>;
  beforeAll(async () => {
    environment = await testEnvironment();
    givenUp = startOnSilentServers();
  });
  afterAll(() => environment.release());

  /** Starts it in the hope that it refuses; answers what it says. */
  async function refusal(overrides: Record<string, string | undefined>): Promise<string> {
    const started = ProductProcess.spawn('api', { ...environment.env, ...overrides });
    expect(await started.exited()).toBe(1);
    expect(started.stderr).not.toMatch(/\n\s+at /);
    return started.stderr.trim();
  }

  async function startOnSilentServers(): Promise<{ at: string; told: string }> {
    const silent = createServer((socket) => void socket.on('error', () => socket.destroy()));
    silent.listen(0, '127.0.0.1');
    await once(silent, 'listening');
    const at = `127.0.0.1:${(silent.address() as AddressInfo).port}`;
    const told = await refusal({
      DATABASE_URL: `postgres://u@${at}/x`,
      REDIS_URL: `redis://${at}`,
      NATS_URL: `nats://${at}`,
    });
    silent.close();
    return { at, told };
  }

  it('lists every problem of its configuration and ends', async () => {
    const told = await refusal({ DATABASE_URL: undefined, JWT_SECRET: 'short', DATABSE_URL: 'postgres://x' });
    expect(told).toBe(
      [
        'api cannot start: Configuration has 3 problems:',
        '  DATABASE_URL: is required',
        '  JWT_SECRET: must have at least 32 characters',
        '  DATABSE_URL: unknown, did you mean DATABASE_URL?',
      ].join('\n'),
    );
  });

  it('names every server that it cannot reach', async () => {
    const told = await refusal({
      DATABASE_URL: 'postgres://u:secret-pw@127.0.0.1:9/x',
      REDIS_URL: 'redis://127.0.0.1:9',
      NATS_URL: 'nats://127.0.0.1:9',
    });
    expect(told).toMatch(/Postgres at 127\.0\.0\.1:9 cannot be reached: .*ECONNREFUSED/);
    expect(told).toMatch(/Redis at 127\.0\.0\.1:9 cannot be reached: .*ECONNREFUSED/);
    expect(told).toMatch(/NATS at 127\.0\.0\.1:9 cannot be reached: /);
    expect(told).not.toContain('secret-pw');
  });

  it('says so when the database does not exist', async () => {
    const url = new URL(environment.env.DATABASE_URL ?? '');
    url.pathname = '/no_such_database';
    expect(await refusal({ DATABASE_URL: url.toString() })).toContain(
      'database "no_such_database" does not exist',
    );
  });

  it('refuses a database that is not migrated, and says what to do', async () => {
    const empty = await createTestDatabase('template0');
    expect(await refusal({ DATABASE_URL: empty.url })).toMatch(
      /^api cannot start: The database lacks athlete_0+1.*: run `npm run migrate` first$/,
    );
    await empty.drop();
  });

  it('refuses a server that is too old, by name and version', async () => {
    const old = await oldNats('2.8.4');
    expect(await refusal({ NATS_URL: old.url })).toBe(
      'api cannot start: NATS 2.8.4 is too old: 2.9.4 or newer is needed',
    );
    old.server.close();
  });

  it('refuses a Redis that evicts keys', async () => {
    const redis = await evictingRedis();
    expect(await refusal({ REDIS_URL: redis.url })).toBe(
      'api cannot start: Redis evicts keys (maxmemory-policy allkeys-lru): set it to noeviction',
    );
    redis.server.close();
  });

  it('gives up on servers that take connections and say nothing', async () => {
    const { at, told } = await givenUp;
    for (const name of ['Postgres', 'Redis', 'NATS'])
      expect(told).toContain(`${name} at ${at} cannot be reached`);
  });

  it('says which port is taken', async () => {
    const server = createServer().listen(0, '0.0.0.0');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    expect(await refusal({ PORT: String(port) })).toBe(`api cannot start: port ${port} is already in use`);
    server.close();
  });

  it.each(['SIGTERM', 'SIGINT'] as const)('ends on %s with what it was doing done', async (signal) => {
    const api = await ProductProcess.start('api', environment.env);
    const agent = new Agent({ keepAlive: true });
    const client = new pg.Client({ connectionString: environment.env.DATABASE_URL });
    await client.connect();
    // The first call of an athlete makes its row, and waits for it as long as the table is locked.
    await client.query('begin; lock table athlete');
    const waiting = request(api.url)
      .get('/v1/me')
      .agent(agent)
      .set('authorization', `Bearer ${await tokenFor(`waits-through-${signal}`)}`)
      .then((answer) => answer);
    await eventually('the insert waits', async () => {
      const waiters = await client.query(
        "select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()",
      );
      return waiters.rowCount === 1;
    });
    api.signal(signal);
    await api.line((line) => line.msg === 'stopping');
    await client.query('commit');
    await client.end();
    expect((await waiting).status).toBe(200);
    expect(await api.exited()).toBe(0);
    agent.destroy();
  });

  it('may hold both roles, each at its own port', async () => {
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

/** Speaks just enough of the protocol to tell its version, as an old server would. */
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

/** Answers INFO as a Redis that was set up as a cache does. */
async function evictingRedis(): Promise<{ server: Server; url: string }> {
  const info =
    'redis_version:7.0.15\r\nloading:0\r\nmaxmemory:1073741824\r\nmaxmemory_policy:allkeys-lru\r\n';
  const server = createServer((socket) => {
    socket.on('error', () => socket.destroy());
    socket.on('data', (bytes) => {
      // One answer per command; ioredis sends several at once.
      for (const command of bytes.toString().match(/\r\n(info|client)\r\n/gi) ?? [])
        socket.write(/info/i.test(command) ? `$${info.length}\r\n${info}\r\n` : '+OK\r\n');
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { server, url: `redis://127.0.0.1:${(server.address() as AddressInfo).port}` };
}
