import { randomUUID } from 'node:crypto';
import { connect, type Socket } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { Redis } from 'ioredis';
import { filesOf } from '../harness/archive.js';
import { tokenFor } from '../harness/environment.js';
import { eventually } from '../harness/eventually.js';
import { type ProductProcess } from '../harness/process.js';
import { Proxy } from '../harness/proxy.js';
import { copyActivity, HOUR, recordingOf, storeActivities } from '../harness/recordings.js';
import { required } from '../harness/servers.js';
import { createTestDatabase, type TestDatabase } from '../harness/test-database.js';
import { within } from '../harness/within.js';
import { World } from '../harness/world.js';

// Some waits of these tests are longer than the usual 90 s of a test.
jest.setTimeout(180_000);

const SERVERS = ['postgres', 'redis', 'nats'] as const;
type Server = (typeof SERVERS)[number];

/** When a reader leaves: milliseconds after its request, or at the first bytes of the answer. */
const MOMENTS = [0, 1, 2, 5, 50, 'middle'] as const;
/** `stalled`: the reader stops reading at the first bytes and leaves 1.5 s after its request. By then all socket buffers are full. */
type Moment = (typeof MOMENTS)[number] | 'stalled';
// Some routes do not answer in time. A reader that waits for the first bytes then leaves after this time.
const LONGEST_MIDDLE_MS = 1_000;
const STALLED_MS = 1_500;
const ROUNDS = 5;
// After 4.25 s the edge answers for each handler that has not begun to answer. Half a second is added for a busy machine.
const DEADLINE_MS = 4_750;
// The number of event streams that an athlete may have open at once.
const STREAMS_OF_EVENTS = 5;
// An answer of HTTP 1.1 has an end of its own. An answer of HTTP 1.0, which some proxies speak, ends with its connection.
const VERSIONS = ['1.1', '1.0'] as const;
// So many recordings of a day have 20 MB in an archive, more than the socket buffers take.
const LARGE = 16;
const HALF_BYTES = 2 * 1024 * 1024;
// A statement of the api is given up after 3.1 s. The test allows more, because two large archives are read on the same busy machine.
const CUT_WITHIN_MS = 15_000;
// There are more callers than connections in the pool.
const CALLERS = 25;

interface Route {
  readonly method: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
}

const ATHLETE = 'left';
const IDENTITY = { 'accept-encoding': 'identity' };

describe('readers who leave at any moment, with any server frozen', () => {
  let database: TestDatabase;
  let proxies: Readonly<Record<Server, Proxy>>;
  let world: World;
  let processes: readonly ProductProcess[];
  let activityIds: readonly string[];
  let athleteId: string;
  let importId: string;
  let tokens: Readonly<Record<'athlete' | 'bystander' | 'admin', string>>;

  beforeAll(async () => {
    database = await createTestDatabase();
    proxies = {
      postgres: await Proxy.before(database.url),
      redis: await Proxy.before(required('REDIS_URL')),
      nats: await Proxy.before(required('NATS_URL')),
    };
    world = await World.start({
      databaseUrl: proxies.postgres.url,
      env: { REDIS_URL: proxies.redis.url, NATS_URL: proxies.nats.url, LOG_LEVEL: 'debug' },
    });
    processes = [world.api, ...world.workers];
    tokens = {
      athlete: await tokenFor(ATHLETE),
      bystander: await tokenFor('bystander'),
      admin: await tokenFor(ATHLETE, { role: 'admin' }),
    };
    await world.connect(ATHLETE, await world.vendorAthlete(3));
    const stored = 'select 1 from activity_stream';
    await eventually('three streams are here', async () => (await world.rows(stored)).length === 3, 150_000);
    const unfinished = 'select 1 from import_jobs where finished_at is null';
    await eventually(
      'the import has ended',
      async () => (await world.rows(unfinished)).length === 0,
      150_000,
    );
    const rows = await world.rows<{ id: string; athlete_id: string }>('select id, athlete_id from activity');
    athleteId = rows[0]?.athlete_id ?? '';
    activityIds = rows.map(({ id }) => id);
    // The readers of an import's events need an import that outlasts the test.
    const [job] = await world.rows<{ id: string }>(
      `insert into import_jobs (athlete_id, provider, type, status, sync_cursor, retry_after)
       values ($1, 'strava', 'full', 'rate_limited', '{}', now() + interval '1 day')
       returning id`,
      [athleteId],
    );
    importId = job?.id ?? '';
    await world.control('POST', 'faults', {
      vendor: 'strava',
      endpoint: 'streams',
      kind: 'slow',
      delay_ms: 3_000,
    });
  });
  afterAll(async () => {
    for (const proxy of Object.values(proxies)) proxy.heal();
    await world?.stop();
    await Promise.all(Object.values(proxies).map((proxy) => proxy.close()));
    await database.drop();
  });

  it('readers who leave at any moment while a server is frozen cause no exit, no unexpected error and no leaked socket', async () => {
    const pids = processes.map(({ pid }) => pid);
    await usualLoad();
    const before = await Promise.all(processes.map(sockets));
    for (const frozen of [undefined, ...SERVERS]) {
      await makeStreamsPending();
      await world.flushRedis();
      if (frozen) proxies[frozen].freeze();
      await Promise.all(
        processes.flatMap((process) => routesOf(process).map((route) => leaveAtEachMoment(process, route))),
      );
      // The edge answers for late handlers even after the reader has left. This happens here while the server is still frozen.
      const answeredLateAt = performance.now() + DEADLINE_MS;
      await eventually('all of them are late', () => performance.now() > answeredLateAt);
      for (const { url } of processes) expect((await get(url, '/health/live')).status).toBe(200);
      if (frozen) proxies[frozen].heal();
      for (const { url } of processes)
        await eventually('ready', async () => (await get(url, '/health/ready')).status === 200);
    }
    await usualLoad();
    for (const [index, process] of processes.entries()) {
      expect(process.pid).toBe(pids[index]);
      expect(await unexpectedErrors(process)).toEqual([]);
      await eventually('the sockets of readers who left are gone', async () => {
        return (await sockets(process)) <= (before[index] ?? 0);
      });
    }
  });

  it('readers who leave a large archive or a day’s streams cause no unexpected error and free their places', async () => {
    const [day = ''] = await storeActivities(database.url, athleteId, [recordingOf(22 * HOUR)]);
    await copyActivity(database.url, day, { athleteId, count: 20 });
    const bytes = bytesOf({ method: 'GET', path: '/v1/account/export' });
    const ofDay = { method: 'GET', path: `/v1/activities/${day}/streams`, headers: IDENTITY };
    const isMade = async (moment: Moment) =>
      (await leave(world.api.url, bytes, moment)).startsWith('HTTP/1.1 200 ');
    for (let round = 0; round < ROUNDS; round += 1) {
      // Some requests are refused, because the place of the previous reader is not free yet.
      for (const moment of MOMENTS) await leave(world.api.url, bytes, moment);
      for (const moment of ['middle', 'stalled'] as const)
        await eventually(`an archive is left (${moment})`, () => isMade(moment));
      for (const moment of [...MOMENTS, 'stalled'] as const)
        await leave(world.api.url, bytesOf(ofDay), moment);
    }
    expect(await unexpectedErrors(world.api)).toEqual([]);
    expect((await get(world.api.url, '/health/live')).status).toBe(200);
  });

  describe('an archive that is half sent when a server freezes', () => {
    const ids: string[] = [];
    let redis: Redis;
    beforeAll(async () => {
      const { REDIS_KEY_PREFIX: keyPrefix = '' } = world.env;
      redis = new Redis(required('REDIS_URL'), { keyPrefix });
      for (const version of VERSIONS) {
        const me = await get(world.api.url, '/v1/me', await bearerOf(version));
        ids.push(((await me.json()) as { athlete_id: string }).athlete_id);
      }
      const [first = ''] = ids;
      const [day = ''] = await storeActivities(database.url, first, [recordingOf(22 * HOUR)]);
      for (const id of ids) await copyActivity(database.url, day, { athleteId: id, count: LARGE });
    });
    afterEach(() => {
      for (const proxy of Object.values(proxies)) proxy.heal();
    });
    afterAll(() => redis?.disconnect());

    it('an archive that is half sent when Postgres freezes is cut off visibly, and the athlete may request it again at once', async () => {
      const readers = await halfRead();
      proxies.postgres.freeze();
      const [chunked, closed] = await restOf(readers);
      expect((await get(world.api.url, '/health/live')).status).toBe(200);
      expect(hasEnd(chunked)).toBe(false);
      await expect(filesOf(bodyOf(closed))).rejects.toThrow('unexpected end of file');
      proxies.postgres.heal();
      await expectArchivesAgain();
    });

    it('an archive that is half sent when Redis freezes is sent to its end, and its lease ends without Redis within 15 s', async () => {
      const readers = await halfRead();
      proxies.redis.freeze();
      const [chunked, closed] = await restOf(readers);
      expect((await get(world.api.url, '/health/live')).status).toBe(200);
      expect(hasEnd(chunked)).toBe(true);
      const { counts } = JSON.parse((await filesOf(bodyOf(closed))).get('manifest.json') ?? '') as {
        counts: { streams: number };
      };
      expect(counts.streams).toBe(LARGE);
      for (const id of ids) {
        const leftMs = await redis.pttl(`archive:${id}`);
        // Redis says -1 for a key that does not end.
        expect(leftMs).not.toBe(-1);
        expect(leftMs).toBeLessThanOrEqual(15_000);
      }
      proxies.redis.heal();
      // As if the 15 s were over.
      await world.flushRedis();
      await expectArchivesAgain();
    });

    const bearerOf = async (version: string) => `Bearer ${await tokenFor(`reader of HTTP ${version}`)}`;

    /** A reader of each version of HTTP, who has stopped reading in the middle of a large archive. */
    function halfRead(): Promise<HalfReader[]> {
      return Promise.all(
        VERSIONS.map(async (version) => {
          const authorization = await bearerOf(version);
          const bytes = `GET /v1/account/export HTTP/${version}\r\nhost: x\r\nconnection: close\r\nauthorization: ${authorization}\r\n\r\n`;
          return eventually('the athlete has a place', () => HalfReader.of(world.api.url, bytes));
        }),
      );
    }

    async function expectArchivesAgain(): Promise<void> {
      await eventually('ready', async () => (await get(world.api.url, '/health/ready')).status === 200);
      const other = `Bearer ${tokens.bystander}`;
      expect((await get(world.api.url, '/v1/me', other)).status).toBe(200);
      const archive = await eventually('another athlete has a place', async () => {
        const answer = await get(world.api.url, '/v1/account/export', other);
        return answer.status === 200 ? Buffer.from(await answer.arrayBuffer()) : undefined;
      });
      expect([...(await filesOf(archive)).keys()]).toContain('manifest.json');
      for (const reader of await halfRead()) reader.leave();
      expect(await unexpectedErrors(world.api)).toEqual([]);
    }
  });

  /** Uses every resource that a reader may hold: an archive's place, all event streams, all connections of the pool. */
  async function usualLoad(): Promise<void> {
    await world.flushRedis();
    const authorization = `Bearer ${tokens.athlete}`;
    await eventually('an archive is made', async () => {
      const answer = await get(world.api.url, '/v1/account/export', authorization);
      return answer.status === 200 && (await answer.arrayBuffer()).byteLength > 0;
    });
    await eventually('all streams of events can be opened', async () => {
      const followed = Array.from({ length: STREAMS_OF_EVENTS }, () =>
        get(world.api.url, `/v1/imports/${importId}/events`, authorization),
      );
      const answers = await Promise.all(followed);
      for (const { body } of answers) await body?.cancel();
      return answers.every(({ status }) => status === 200);
    });
    const strangers = await Promise.all(Array.from({ length: CALLERS }, async () => tokenFor(randomUUID())));
    const answers = await Promise.all(
      strangers.map((stranger) => get(world.api.url, '/v1/me', `Bearer ${stranger}`)),
    );
    expect(answers.map(({ status }) => status)).toEqual(strangers.map(() => 200));
  }

  /** Makes streams pending, so that `Prefer: wait` has something to wait for. */
  async function makeStreamsPending(): Promise<void> {
    await world.rows(
      `update activity
       set stream_fetch_status = 'pending', stream_fetch_fence = stream_fetch_fence + 1
       where id = any ($1::uuid[]) and stream_fetch_status <> 'pending'`,
      [activityIds.slice(1)],
    );
  }

  /** All routes that the process logs at its start, so that the test also covers later routes. */
  function routesOf(process: ProductProcess): Route[] {
    const { routes } = process.lines.find(({ msg }) => msg === 'routes') as unknown as { routes: string[] };
    const all = routes
      .map((route) => route.split(' ') as [string, string])
      .filter(([method]) => method !== 'HEAD' && method !== 'OPTIONS')
      .map(([method, pattern]) => ({ method, path: pathOf(pattern) }));
    if (process !== world.api) return all;
    const streams = activityIds.map((id) => `/v1/activities/${id}/streams`);
    return [
      ...all,
      { method: 'HEAD', path: '/v1/account/export' },
      { method: 'GET', path: `${streams[0]}?points=2` },
      ...streams.map((path) => ({ method: 'GET', path, headers: { prefer: 'wait=5' } })),
      ...streams.map((path) => ({ method: 'GET', path, headers: IDENTITY })),
      { method: 'GET', path: '/v1/changes?after=latest&wait=5' },
    ];
  }

  function pathOf(pattern: string): string {
    const values: Readonly<Record<string, string | undefined>> = {
      id: pattern.startsWith('/v1/imports') ? importId : activityIds[0],
      provider: 'strava',
      secret: world.env.STRAVA_WEBHOOK_PATH_SECRET,
      type: 'series',
      session: 'a-session',
      cause: 'broker_error',
      extra: 'search=x',
      seq: '1',
    };
    return pattern
      .replace(/:(\w+)/g, (_, name: string) => values[name] ?? activityIds[0] ?? '')
      .replace('*', 'x');
  }

  async function leaveAtEachMoment(process: ProductProcess, route: Route): Promise<void> {
    await Promise.all(MOMENTS.map((moment) => leave(process.url, bytesOf(route), moment)));
  }

  function bytesOf({ method, path, headers = {} }: Route): string {
    const body = method === 'POST' ? '{}' : '';
    // The test sends DELETE as an athlete who has no data.
    const token =
      method === 'DELETE' ? tokens.bystander : path.startsWith('/admin') ? tokens.admin : tokens.athlete;
    const all = {
      host: 'x',
      authorization: `Bearer ${token}`,
      'accept-encoding': 'gzip',
      ...(body && { 'content-type': 'application/json', 'content-length': body.length }),
      ...headers,
    };
    const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
    return `${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n${body}`;
  }
});

/** Requests an archive, and stops reading when so many bytes have come. */
class HalfReader {
  private readonly parts: Buffer[] = [];
  private readonly closed: Promise<void>;

  /** Rejects if the request is refused. */
  static async of(url: string, bytes: string): Promise<HalfReader> {
    const { hostname, port } = new URL(url);
    const reader = new HalfReader(connect(Number(port), hostname));
    reader.socket.write(bytes);
    await eventually('half an archive', () => reader.socket.isPaused() || reader.socket.closed);
    if (reader.socket.closed) throw new Error(Buffer.concat(reader.parts).toString('latin1', 0, 200));
    return reader;
  }

  private constructor(private readonly socket: Socket) {
    this.closed = new Promise((resolve) => socket.on('close', () => resolve()));
    socket.on('error', () => socket.destroy());
    let count = 0;
    socket.on('data', (part: Buffer) => {
      this.parts.push(part);
      count += part.length;
      if (count - part.length < HALF_BYTES && count >= HALF_BYTES) socket.pause();
    });
  }

  /** Reads the rest, and resolves with the whole answer once the connection has ended. */
  async rest(): Promise<Buffer> {
    this.socket.resume();
    await this.closed;
    return Buffer.concat(this.parts);
  }

  leave(): void {
    this.socket.destroy();
  }
}

async function restOf(readers: readonly HalfReader[]): Promise<[Buffer, Buffer]> {
  const rests = Promise.all(readers.map((reader) => reader.rest()));
  return within('the connections end', CUT_WITHIN_MS, rests) as Promise<[Buffer, Buffer]>;
}

/** True if an answer of HTTP 1.1 has its last chunk. */
const hasEnd = (answer: Buffer) => answer.toString('latin1', answer.length - 5) === '0\r\n\r\n';

const bodyOf = (answer: Buffer) => answer.subarray(answer.indexOf('\r\n\r\n') + 4);

/** Sends a request and leaves at that moment. Resolves with the first bytes of the answer once the connection is closed. */
function leave(url: string, bytes: string, moment: Moment): Promise<string> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve) => {
    const socket = connect(Number(port), hostname);
    // A reader with a time in milliseconds closes its connection. A reader with `middle` or `stalled` resets it.
    const disconnect = () => void (typeof moment === 'string' ? socket.resetAndDestroy() : socket.destroy());
    let timer: NodeJS.Timeout | undefined;
    let seen = '';
    socket.on('error', () => socket.destroy());
    socket.on('close', () => {
      clearTimeout(timer);
      resolve(seen);
    });
    socket.on('connect', () => {
      socket.write(bytes);
      timer = setTimeout(disconnect, msOf(moment));
    });
    socket.on('data', (data: Buffer) => {
      seen ||= data.toString('latin1');
      if (moment === 'middle') disconnect();
      if (moment === 'stalled') socket.pause();
    });
  });
}

function msOf(moment: Moment): number {
  if (moment === 'middle') return LONGEST_MIDDLE_MS;
  return moment === 'stalled' ? STALLED_MS : moment;
}

function get(url: string, path: string, authorization?: string): Promise<Response> {
  return fetch(`${url}${path}`, {
    headers: { connection: 'close', ...(authorization && { authorization }) },
  });
}

async function metricsOf(process: ProductProcess): Promise<string> {
  return (await get(process.url, '/metrics')).text();
}

async function unexpectedErrors(process: ProductProcess): Promise<string[]> {
  const lines = (await metricsOf(process)).split('\n');
  return lines.filter((line) => /^unexpected_errors_total\{.*\} [1-9]/.test(line));
}

async function sockets(process: ProductProcess): Promise<number> {
  const [, count] =
    /^nodejs_active_resources\{type="TCPSocketWrap"\} (\d+)$/m.exec(await metricsOf(process)) ?? [];
  return Number(count);
}
