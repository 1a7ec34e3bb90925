import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { migrateUp } from '#platform';
import { tokenFor } from '../test/harness/environment.js';
import { type ImportBody, World } from '../test/harness/world.js';
import { type Finding } from './results.js';

const TIME_SCALE = 90;
const ACTIVITIES = 700;
// The backfill makes a call only if at least 20 of the window's 100 reads are unused before the call. So it makes 81 calls.
const SHARE = 81;
const WINDOW_MS = 900_000 / TIME_SCALE;

/** Measures the backfill of one history's streams, with TIME_SCALE 90 and without other work. */
export async function backfillFindings(serverUrl: string): Promise<{ findings: Finding[]; raw: unknown }> {
  const databaseUrl = await newDatabase(serverUrl);
  const world = await World.start({ timeScale: TIME_SCALE, workers: 2, databaseUrl });
  const athlete = randomUUID();
  await operate(world, 'pause');
  await world.connect(athlete, await world.vendorAthlete(ACTIVITIES, { manual_share: 0 }));
  const { body } = await world.call<ImportBody>(athlete, 'POST', '/v1/imports', { type: 'full' });
  await world.importUntil(
    athlete,
    body.id,
    ({ activities_total }) => activities_total === ACTIVITIES,
    10 * WINDOW_MS,
  );
  // The import's detail requests would use up the same windows.
  await world.call(athlete, 'DELETE', `/v1/imports/${body.id}`);
  const before = await world.stravaStats();
  await pause(WINDOW_MS - (Date.now() % WINDOW_MS));
  const firstWindow = Math.floor(Date.now() / WINDOW_MS);
  const begunAt = Date.now();
  await operate(world, 'resume');
  while ((await left(world)) > 0) {
    if (Date.now() - begunAt > 20 * WINDOW_MS)
      throw new Error(`the backfill does not end: ${await left(world)} left`);
    await pause(20);
  }
  const tookMs = Date.now() - begunAt;
  const stats = await world.stravaStats();
  await world.stop();

  const full = Math.floor(ACTIVITIES / SHARE);
  const used = stats.windows.filter(({ id }) => id >= firstWindow && id < firstWindow + full);
  const use = used.reduce((sum, window) => sum + (window.used.read_15min ?? 0), 0) / (full * SHARE);
  const boundMs = full * WINDOW_MS;
  const calls = (stats.by_endpoint.streams ?? 0) - (before.by_endpoint.streams ?? 0);
  const findings = [
    finding('backfill of 700, calls over a limit', stats.over_limit, '0', stats.over_limit === 0),
    finding('backfill of 700, calls', calls, `${ACTIVITIES}`, calls === ACTIVITIES),
    finding(
      'backfill of 700, time at TIME_SCALE 90',
      `${(tookMs / 1_000).toFixed(1)} s (bound ${(boundMs / 1_000).toFixed(1)} s)`,
      `≤ ${((boundMs + WINDOW_MS) / 1_000).toFixed(1)} s`,
      tookMs <= boundMs + WINDOW_MS,
    ),
    finding('backfill of 700, use of its share', `${(100 * use).toFixed(1)} %`, '≥ 98 %', use >= 0.98),
  ];
  return { findings, raw: { stats, tookMs, boundMs } };
}

async function newDatabase(serverUrl: string): Promise<string> {
  const url = new URL(serverUrl);
  url.pathname = 'backfill';
  const admin = new pg.Client({ connectionString: serverUrl });
  await admin.connect();
  await admin.query('create database backfill');
  await admin.end();
  await migrateUp(url.href);
  return url.href;
}

async function left(world: World): Promise<number> {
  const statement = `select count(*)::int as n from activity where stream_fetch_status <> 'success'`;
  return (await world.rows<{ n: number }>(statement))[0]?.n ?? 0;
}

async function operate(world: World, what: 'pause' | 'resume'): Promise<void> {
  const authorization = `Bearer ${await tokenFor(randomUUID(), { role: 'admin' })}`;
  const answer = await fetch(`${world.api.url}/admin/backfills/${what}`, {
    method: 'POST',
    headers: { authorization },
  });
  if (answer.status !== 202) throw new Error(`${what}: ${answer.status}`);
  await answer.arrayBuffer();
}

function finding(what: string, measured: string | number, goal: string, met: boolean): Finding {
  return { what, measured: String(measured), goal, met };
}
