import { setTimeout as pause } from 'node:timers/promises';
import { type Consumer, jetstream } from '@nats-io/jetstream';
import { SignJWT } from 'jose';
import pg from 'pg';
import { connectNats, createRedis, migrateUp } from '#platform';
import { SLEEP_CONSUMERS } from '#sleep';
import { openPool } from '../test/harness/test-database.js';
import { type Curve, type GrowthRaw, growthOf } from './growth-page.js';
import { type Filled, fill, sizeOf } from './growth-rows.js';
import { logger, statements, type Work } from './growth-works.js';
import { type Child, report, startChild, verify } from './harness.js';
import { type Finding, median } from './results.js';

// Measures statements, routes and gauges in databases of growing size: 10³ to 10⁶ activities, with a tenth as many athletes and ten times as
// many changes. The largest takes some 8 GB of disk. GROWTH_SIZES=1000,10000 measures other sizes.
const SIZES = (process.env.GROWTH_SIZES ?? '1000,10000,100000,1000000').split(',').map(Number);
const TIMES = 31;
// Each first answer needs a process of its own.
const FIRSTS = 3;
// At TIME_SCALE 900 GET /admin/observability is cached for 250 ms.
const TIME_SCALE = '900';
const CACHED_MS = 300;
const PULL_MS = 30_000;
const SECRET = 'a-secret-for-benchmarks-of-at-least-32-characters';
const databaseUrl = process.env.DATABASE_URL ?? '';

interface Side {
  readonly works: readonly Work[];
  readonly close: () => Promise<void>;
}

const redis = createRedis({ url: process.env.REDIS_URL ?? '', keyPrefix: '' }, logger);
const scrapes: number[] = [];
const forecasts: number[] = [];
const nats = await connectNats(process.env.NATS_URL ?? '', 'bench');
let isPulled = false;
const sides: Side[] = [];
for (const size of SIZES) sides.push(await open(size));
const curves: Curve[] = [
  ...(await measureAll()),
  { group: 'gauges', what: 'first scrape of a worker, all metrics', ms: scrapes },
  {
    group: 'routes of operators',
    what: 'first GET /admin/observability of an api, with its forecast',
    ms: forecasts,
  },
];
for (const { close } of sides) await close();
await nats.close();
redis.disconnect();

const sizes = SIZES.map(sizeOf);
const raw: GrowthRaw = {
  about: `Each number is the median of ${TIMES} measurements, made in turn at all sizes. An athlete has ten activities, ten nights and 100 changes; one athlete, whose lists are read, has a tenth of all activities and nights. Three rows grow: two sweeps name every athlete with waiting streams in their answer (95 of 100 here, once and at most four times a minute), and one looks at all connections once an hour. The thousand counts are read by an index, from a colder cache.`,
  activities: sizes.map(({ activities }) => activities),
  athletes: sizes.map(({ athletes }) => athletes),
  changes: sizes.map(({ changes }) => changes),
  curves,
};
await report({ name: 'growth', findings: curves.map(findingOf), raw });

/** The sizes are measured in turn, so a busy moment of the machine affects all of them. */
async function measureAll(): Promise<Curve[]> {
  const measured: Curve[] = [];
  for (const [index, { group, what }] of (sides[0]?.works ?? []).entries()) {
    const times = sides.map((): number[] => []);
    for (let n = 0; n <= TIMES; n += 1)
      for (const [side, { works }] of sides.entries()) {
        const work = works[index] as Work;
        await work.before?.();
        const begunAt = performance.now();
        await work.run(n);
        // The first round is the warm-up.
        if (n > 0) times[side]?.push(performance.now() - begunAt);
      }
    measured.push({ group, what, ms: times.map(median) });
  }
  return measured;
}

function findingOf(curve: Curve): Finding {
  const { ratio, isFlat } = growthOf(curve);
  return {
    what: `${curve.group}: ${curve.what}`,
    measured: `${curve.ms.map((ms) => ms.toFixed(2)).join(' → ')} ms (${ratio.toFixed(1)}×)`,
    goal: '≤ 2× or ≤ 1 ms',
    met: isFlat,
  };
}

async function open(activities: number): Promise<Side> {
  const begunAt = performance.now();
  const size = sizeOf(activities);
  const url = await createDatabase(`growth_${activities}`);
  await migrateUp(url);
  const filled = await fill(url, size);
  const env = {
    DATABASE_URL: url,
    REDIS_KEY_PREFIX: `growth:${activities}:`,
    PORT: '0',
    WORKER_PORT: '0',
    JWT_SECRET: SECRET,
    ENCRYPTION_KEYS: `1:${Buffer.alloc(32).toString('base64')}`,
  };
  scrapes.push(await firstScrape(env));
  await pullLikeAWorker();
  forecasts.push(await firstForecast(env, filled));
  const { database, close } = await openPool(url, [], { poolSize: 1, statementTimeoutMs: 120_000 });
  const api = await startChild('dist/apps/api/src/main.js', { ...env, TIME_SCALE });
  const works = [
    ...(await statements(database, redis, filled, size.changes)),
    ...(await routes(api, filled)),
  ];
  const { rows } = await database.query<{ count: number }>('select count(*)::int as count from activity');
  verify('activities in a filled database', rows[0]?.count ?? 0, activities);
  const seconds = Math.round((performance.now() - begunAt) / 1_000);
  console.log(`${activities.toLocaleString('en')} activities in ${seconds} s`);
  return {
    works,
    close: async () => {
      await api.stop();
      await close();
    },
  };
}

async function createDatabase(name: string): Promise<string> {
  const admin = new pg.Client({ connectionString: databaseUrl });
  await admin.connect();
  await admin.query(`create database ${name}`);
  // The time of a disk sync does not depend on the number of rows, so it would only add noise.
  await admin.query(`alter database ${name} set synchronous_commit = off`);
  await admin.end();
  const url = new URL(databaseUrl);
  url.pathname = name;
  return url.href;
}

/** The first scrape of a worker finds no cached number. Each is of a worker of its own. */
async function firstScrape(env: NodeJS.ProcessEnv): Promise<number> {
  const times: number[] = [];
  for (let n = 0; n < FIRSTS; n += 1) {
    const worker = await startChild('dist/apps/worker/src/main.js', env);
    const begunAt = performance.now();
    const answer = await fetch(`${worker.url}/metrics`);
    const text = await answer.text();
    times.push(performance.now() - begunAt);
    verify('scrapes with all gauges', text.match(/^(runtime_jobs|stream_fetch_activities)\{/m) ? 1 : 0, 1);
    await worker.stop();
  }
  return median(times);
}

/**
 * Pulls from the durable consumers, which the first worker has made. Otherwise each GET /admin/observability would wait 250 ms for a second
 * look at consumers that nobody pulls from, and no size would make a difference. A worker would pull as well, but also change the rows that
 * are measured.
 */
async function pullLikeAWorker(): Promise<void> {
  if (isPulled) return;
  isPulled = true;
  const pull = async (consumer: Consumer) => {
    while (!nats.isClosed())
      for await (const { subject } of await consumer.fetch({ max_messages: 1, expires: PULL_MS }))
        throw new Error(`a message of ${subject} came, but nothing publishes`);
  };
  for (const { stream, durable } of SLEEP_CONSUMERS)
    pull(await jetstream(nats).consumers.get(stream, durable)).catch((error: unknown) => {
      if (!nats.isClosed()) throw error;
    });
}

/** The first answer of an api, which has no forecast yet. The request before it opens the connections. */
async function firstForecast(env: NodeJS.ProcessEnv, { readerId }: Filled): Promise<number> {
  const authorization = `Bearer ${await tokenOf(readerId, { role: 'admin' })}`;
  const times: number[] = [];
  for (let n = 0; n < FIRSTS; n += 1) {
    const api = await startChild('dist/apps/api/src/main.js', env);
    const get = async (path: string) => {
      const answer = await fetch(`${api.url}${path}`, { headers: { authorization } });
      await answer.arrayBuffer();
      verify(`answers of ${path}`, answer.status, 200);
    };
    await get('/admin/jobs');
    const begunAt = performance.now();
    await get('/admin/observability');
    times.push(performance.now() - begunAt);
    await api.stop();
  }
  return median(times);
}

async function routes(api: Child, { readerId, leaverId, activityIds, middle }: Filled): Promise<Work[]> {
  const [asAdmin, asReader, asLeaver] = await Promise.all([
    tokenOf(readerId, { role: 'admin' }),
    tokenOf(readerId),
    tokenOf(leaverId),
  ]);
  const get = async (path: string, token: string) => {
    const answer = await fetch(`${api.url}${path}`, { headers: { authorization: `Bearer ${token}` } });
    const body = await answer.arrayBuffer();
    if (answer.status !== 200)
      throw new Error(`${path}: ${answer.status} ${Buffer.from(body).toString().slice(0, 500)}`);
  };
  const deep = Buffer.from(`${middle.start_time.getTime()}.${middle.id}`).toString('base64url');
  const reading = (what: string, path: string | ((n: number) => string), token = asReader): Work => ({
    group: 'routes of apps',
    what,
    run: (n) => get(typeof path === 'string' ? path : path(n), token),
  });
  const operating = (path: string): Work => ({
    group: 'routes of operators',
    what: `GET ${path}`,
    run: () => get(path, asAdmin),
  });
  return [
    reading('GET /v1/activities, first page', '/v1/activities'),
    reading('GET /v1/activities, from the middle', `/v1/activities?cursor=${deep}`),
    reading('GET /v1/activities?sport_type', '/v1/activities?sport_type=Ride'),
    reading('GET /v1/activities/{id}', (n) => `/v1/activities/${activityIds[n % 10]}`),
    reading('GET /v1/activities/{id}/state', (n) => `/v1/activities/${activityIds[n % 10]}/state`),
    reading('GET /v1/activities/{id}/streams', (n) => `/v1/activities/${activityIds[n % 10]}/streams`),
    reading('GET /v1/sleep', '/v1/sleep?limit=50'),
    reading('GET /v1/changes', '/v1/changes'),
    {
      ...reading('GET /v1/account/export', '/v1/account/export', asLeaver),
      group: 'one athlete leaves',
    },
    { ...operating('/admin/observability'), before: () => pause(CACHED_MS) },
    operating('/admin/jobs'),
    operating('/admin/imports'),
    operating('/admin/athletes'),
    operating('/admin/athletes?q=a'),
    operating('/admin/audit'),
    operating('/admin/webhook-events'),
    operating('/admin/failures'),
  ];
}

function tokenOf(subject: string, claims: Record<string, unknown> = {}): Promise<string> {
  return new SignJWT(claims)
    .setProtectedHeader({ alg: 'HS256' })
    .setSubject(subject)
    .setExpirationTime('24h')
    .sign(new TextEncoder().encode(SECRET));
}
