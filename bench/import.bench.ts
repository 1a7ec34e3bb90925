import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { Redis } from 'ioredis';
import pg from 'pg';
import { migrateUp, type Sql, type Statement } from '#platform';
import { type SummaryActivity } from '#vendors';
import { ActivityStore } from '../libs/activities/src/activity-store.js';
import { type ImportBody, World } from '../test/harness/world.js';
import { report } from './harness.js';
import { backfillFindings } from './import-backfill.js';
import { atStrava } from '../libs/activities/src/activities.harness.js';

// Three athletes import at the same time with a limit of 400 reads a day, so two midnights fall into the run. Meanwhile workers are
// killed and Redis is emptied. A new upload of an importing athlete must not wait for the import.
const TIME_SCALE = 900;
const ATHLETES = 3;
const ACTIVITIES = 300;
const READ_DAY = 400;
const KILLS = 2;
const WINDOW_MS = 900_000 / TIME_SCALE;
const DAY_MS = 86_400_000 / TIME_SCALE;
const LEASE_FLOOR_MS = 8_000;
const BULK_ROWS = 10_000;

await migrateUp(process.env.DATABASE_URL ?? '');
const world = await World.start({ timeScale: TIME_SCALE, workers: 2, databaseUrl: process.env.DATABASE_URL });
await world.pauseBackfill();
await world.control('POST', 'limits', { vendor: 'strava', read_day: READ_DAY });
const redis = new Redis(process.env.REDIS_URL ?? '');
const database = new pg.Client({ connectionString: process.env.DATABASE_URL });
await database.connect();

// A run begins at the start of a day, so that the bound is the same in every run.
await pause(DAY_MS - (Date.now() % DAY_MS) + 200);
const startedAt = Date.now();
const imports = await Promise.all(Array.from({ length: ATHLETES }, begin));
const fresh: number[] = [];
await pause(2_000);
for (let kill = 0; kill < KILLS; kill += 1) {
  const [worker] = world.workers;
  if (worker) await world.kill(worker);
  await world.startWorker();
  await pause(1_000);
  if (kill === 0) await redis.flushall();
  fresh.push(await upload(imports[0] as Begun));
  await pause(DAY_MS / 2);
}
await Promise.all(
  imports.map(({ athlete, id }) =>
    world.importUntil(athlete, id, ({ status }) => status === 'completed', 6 * DAY_MS),
  ),
);
const tookMs = Date.now() - startedAt;
const stats = await world.stravaStats();
const calls = stats.total;
const bound = boundMs(calls);
const listing = await listTenThousand();
const bulk = await bulkRowsPerSecond();
await database.end();
redis.disconnect();
await world.stop();
const backfill = await backfillFindings(process.env.DATABASE_URL ?? '');

const allowance = bound + Math.max(WINDOW_MS, 10_000) + KILLS * LEASE_FLOOR_MS;
const fullDays = stats.days.slice(0, -1).map(({ used }) => used.read_day ?? 0);
const dayUse = Math.min(...fullDays.slice(0, 2)) / READ_DAY;
await report({
  name: 'import',
  findings: [
    finding('calls over a limit', stats.over_limit, '0', stats.over_limit === 0),
    finding('answers 429', stats.by_status['429'] ?? 0, '0', !stats.by_status['429']),
    finding(
      `calls made twice, ${KILLS} kills`,
      stats.duplicate_requests,
      `≤ ${KILLS}`,
      stats.duplicate_requests <= KILLS,
    ),
    finding('use of a day while work waits', `${(100 * dayUse).toFixed(1)} %`, '≥ 98 %', dayUse >= 0.98),
    finding(
      'time to finish',
      `${seconds(tookMs)} (bound ${seconds(bound)})`,
      `≤ ${seconds(allowance)}`,
      tookMs <= allowance,
    ),
    finding('fresh upload visible, slowest', `${Math.max(...fresh)} ms`, '< 2 s', Math.max(...fresh) < 2_000),
    // 51 pages have new activities: the first page has 200 of them. Each later page has 199, because it repeats the oldest activity
    // of the page before. Then follow a page with only the oldest activity, and an empty page, because only an empty page is the end.
    finding('list calls for 10,000 activities', listing, '≤ 53', listing <= 53),
    finding('bulk upsert', `${Math.round(bulk).toLocaleString('en')} rows/s`, '≥ 20,000', bulk >= 20_000),
    ...backfill.findings,
  ],
  raw: { stats, tookMs, bound, fresh, listing, bulk, backfill: backfill.raw },
});

interface Begun {
  readonly athlete: string;
  readonly vendorId: string;
  readonly id: string;
}

async function begin(): Promise<Begun> {
  const athlete = randomUUID();
  const vendorId = await world.vendorAthlete(ACTIVITIES);
  await world.connect(athlete, vendorId);
  const { body } = await world.call<ImportBody>(athlete, 'POST', '/v1/imports', { type: 'full' });
  return { athlete, vendorId, id: body.id };
}

/** Milliseconds from an upload at the vendor until the activity is stored. */
async function upload({ athlete, vendorId }: Begun): Promise<number> {
  const begunAt = Date.now();
  const { id } = await world.control<{ id: string }>('POST', 'activities', { athlete_id: vendorId });
  const seen = 'select 1 from activity where athlete_id = $1 and external_activity_id = $2';
  while ((await world.rows(seen, [athlete, id])).length === 0) {
    if (Date.now() - begunAt > 30_000) return Infinity;
    await pause(5);
  }
  return Date.now() - begunAt;
}

/**
 * The shortest time for that many calls of the import class. The class may use 95 % of a day's calls, 95 calls a window. It may use the
 * remaining 5 % of the day only in the day's last window.
 */
function boundMs(total: number): number {
  const beforeRelease = Math.floor(READ_DAY * 0.95);
  const days = Math.floor(total / READ_DAY);
  const left = total - days * READ_DAY;
  if (left === 0) return days * DAY_MS;
  if (left > beforeRelease) return (days + 1) * DAY_MS - WINDOW_MS;
  return days * DAY_MS + Math.ceil(left / 95) * WINDOW_MS;
}

async function listTenThousand(): Promise<number> {
  await world.control('POST', 'limits', {
    vendor: 'strava',
    read_15min: 10_000,
    read_day: 100_000,
    overall_15min: 20_000,
    overall_day: 200_000,
  });
  const athlete = randomUUID();
  await world.connect(athlete, await world.vendorAthlete(10_000));
  const { body } = await world.call<ImportBody>(athlete, 'POST', '/v1/imports', { type: 'full' });
  await world.importUntil(
    athlete,
    body.id,
    ({ activities_total }) => activities_total === 10_000,
    4 * DAY_MS,
  );
  await world.call(athlete, 'DELETE', `/v1/imports/${body.id}`);
  const lists = `
    select count(*)::int as calls
    from strava_api_requests
    where user_id = $1 and endpoint = 'activities' and class = 'import'`;
  return (await world.rows<{ calls: number }>(lists, [athlete]))[0]?.calls ?? 0;
}

/** The rate of the import's upsert statement for new rows, with pages of the vendor's size. */
async function bulkRowsPerSecond(): Promise<number> {
  const { rows } = await database.query<{ athlete_id: string }>(
    'select athlete_id from activity group by athlete_id order by count(*) desc limit 1',
  );
  const athlete = rows[0]?.athlete_id ?? '';
  const store = new ActivityStore();
  const sql: Sql = {
    query: async <Row extends object>(statement: Statement | string, values: readonly unknown[] = []) => {
      const prepared = typeof statement === 'string' ? { text: statement } : statement;
      const { rows: found, rowCount } = await database.query<Row>({ ...prepared, values: [...values] });
      return { rows: found, count: rowCount ?? 0 };
    },
  };
  const summaries = Array.from({ length: BULK_ROWS }, (_, n) => summary(n));
  const begunAt = performance.now();
  for (let from = 0; from < BULK_ROWS; from += 200)
    await store.saveSummaries(sql, atStrava(athlete), summaries.slice(from, from + 200), new Date());
  return (BULK_ROWS * 1_000) / (performance.now() - begunAt);
}

function finding(what: string, measured: string | number, goal: string, met: boolean) {
  return { what, measured: String(measured), goal, met };
}

function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(1)} s`;
}

function summary(n: number): SummaryActivity {
  return {
    id: `${8_000_000_000_000 + n}`,
    name: `Activity ${n}`,
    sportType: 'Run',
    startTime: new Date(Date.UTC(2026, 0, 1) - n * 3_600_000),
    utcOffsetS: 3_600,
    timezone: 'Europe/Berlin',
    distanceM: 10_000,
    movingTimeS: 3_000,
    elapsedTimeS: 3_100,
    elevationGainM: 50,
    averageHeartrate: 150,
    maxHeartrate: 170,
    manual: false,
    private: false,
    totalPhotoCount: 0,
    map: { polyline: null, summaryPolyline: 'abcdefghijklmnopqrstuvwxyz'.repeat(8) },
  };
}
