import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { migrateUp } from '#platform';
import { eventually } from '../harness/eventually.js';
import { ProductProcess } from '../harness/process.js';
import { type ImportBody, type ReceiptBody, World } from '../harness/world.js';
import { backUp, contentsOf, restore, wipe } from './backup.js';

// npm run drill: the page docs/operations/runbooks/restore.md, done. After the backup, athletes upload, an app sends a night, and an athlete
// deletes the account; then the database and Redis are lost. A simulated day of the vendors takes 96 s, so the drill takes about six minutes.
const TIME_SCALE = 900;
const DAY_MS = 86_400_000 / TIME_SCALE;
const ATHLETES = 3;
const ACTIVITIES = 20;
const NIGHTS = 3;
const INGEST_KEY = 'an-ingest-key-for-the-drill';
// A missing upload is found by a comparison with the vendor's list: within two days, and one more for a full budget.
const COMPARED_MS = 3 * DAY_MS;

interface Check {
  readonly expected: string | number;
  readonly found: string | number;
}

const databaseUrl = process.env.DATABASE_URL ?? '';
const folder = mkdtempSync(join(tmpdir(), 'drill-'));
const file = join(folder, 'backup');
const checks: Record<string, Check> = {};
await migrateUp(databaseUrl);
const world = await World.start({
  timeScale: TIME_SCALE,
  workers: 2,
  databaseUrl,
  env: { INGEST_API_KEYS: INGEST_KEY },
});
try {
  const athletes = await Promise.all(Array.from({ length: ATHLETES }, begin));
  const [first, second, leaving] = athletes as [Athlete, Athlete, Athlete];
  await told(`${ATHLETES} athletes with all activities, their streams, and nights`, () =>
    allIsStored(athletes),
  );

  const before = performance.now();
  const saved = await backUp(databaseUrl, file);
  say(`backup of ${saved.size} tables, ${kilobytes(file)} kB, ${seconds(before)} s`);

  const uploads = [await upload(first), await upload(second)];
  await ingest(first.id, '2025-10-09');
  await told('after the backup: two uploads and a night', () => haveArrived(first.id, uploads, 1));
  await deleteAccount(leaving.id);
  const cursor = await newestCursor(first.id);
  say('after the backup: an account is deleted');

  await Promise.all([world.api, ...world.workers.splice(0)].map((one) => one.stop()));
  await wipe(databaseUrl);
  await world.flushRedis();
  say('lost: the database and Redis');

  const restoring = performance.now();
  await restore(databaseUrl, file);
  const restored = await contentsOf(databaseUrl);
  say(`restored in ${seconds(restoring)} s`);
  check('tables', saved.size, restored.size);
  check(
    'tables whose rows differ',
    0,
    [...saved].filter(([name, digest]) => restored.get(name) !== digest).length,
  );

  world.api = await ProductProcess.start('api', world.env);
  check('GET /v1/changes with a cursor from after the backup', 410, await statusOf(first.id, cursor));
  await deleteAccount(leaving.id, false);
  say('the api is up; workers wait until the day of the lost calls is over');
  await pause(DAY_MS - (Date.now() % DAY_MS) + 1_000);
  for (const _ of [1, 2]) await world.startWorker();

  const found = performance.now();
  await told('the comparison with the vendor has found both uploads', () =>
    haveArrived(first.id, uploads, 0),
  );
  say(
    `… ${seconds(found)} s after the workers began (${((performance.now() - found) / DAY_MS).toFixed(1)} days)`,
  );
  check('nights that the app has not sent again', 0, await nightsOf(first.id, '2025-10-09'));
  await ingest(first.id, '2025-10-09');
  await told('the night that the app sent again', async () => (await nightsOf(first.id, '2025-10-09')) === 1);
  await told('the repeated deletion', async () => (await world.rows('select 1 from athlete')).length === 2);
  await told('streams of both uploads', () => allIsStored([first, second]));
  check('activities', 2 * (ACTIVITIES + 1), await count('select 1 from activity'));
  check(
    'activities stored twice',
    0,
    await count('select 1 from activity group by athlete_id, external_activity_id having count(*) > 1'),
  );
  const { over_limit: over, by_status: answers } = await world.stravaStats();
  check('calls over a limit', 0, over);
  check('answers 429', 0, answers['429'] ?? 0);
} finally {
  await world.stop();
  rmSync(folder, { recursive: true });
}
console.table(checks);
if (Object.values(checks).some(({ expected, found }) => expected !== found)) process.exitCode = 1;

interface Athlete {
  readonly id: string;
  readonly atStrava: string;
}

async function begin(): Promise<Athlete> {
  const id = randomUUID();
  const atStrava = await world.vendorAthlete(ACTIVITIES);
  const oura = await world.control<{ id: string }>('POST', 'athletes', {
    provider: 'oura',
    activities: 1,
    nights: NIGHTS,
  });
  await world.connect(id, atStrava);
  await world.connect(id, oura.id, 'oura');
  const { body } = await world.call<ImportBody>(id, 'POST', '/v1/imports', { type: 'full' });
  await world.importUntil(id, body.id, ({ status }) => status === 'completed', 3 * DAY_MS);
  return { id, atStrava };
}

async function allIsStored(athletes: readonly Athlete[]): Promise<boolean> {
  const without = await count(
    "select 1 from activity where stream_fetch_status not in ('success', 'unavailable') or detail_status <> 'stored'",
  );
  // Not all nights: the vendor scores some of them later.
  const withoutNights = await count(
    'select 1 from athlete where subject = any($1) and subject not in (select user_id from sleep_data)',
    [athletes.map(({ id }) => id)],
  );
  return without + withoutNights === 0;
}

async function upload({ atStrava }: Athlete): Promise<string> {
  return (await world.control<{ id: string }>('POST', 'activities', { athlete_id: atStrava })).id;
}

async function haveArrived(athlete: string, uploads: readonly string[], nights: number): Promise<boolean> {
  const stored = await count('select 1 from activity where external_activity_id = any($1)', [uploads]);
  return stored === uploads.length && (await nightsOf(athlete, '2025-10-09')) === nights;
}

function nightsOf(athlete: string, date: string): Promise<number> {
  return count('select 1 from sleep_data where user_id = $1 and date = $2', [athlete, date]);
}

async function ingest(userId: string, date: string): Promise<void> {
  const { status } = await fetch(`${world.api.url}/api/v1/ingest/sleep`, {
    method: 'POST',
    headers: { 'x-api-key': INGEST_KEY, 'content-type': 'application/json' },
    body: JSON.stringify({ userId, date, durationMinutes: 432 }),
  });
  if (status !== 200) throw new Error(`the night was answered with ${status}`);
}

/** After the restore no worker runs yet, so the deletion only begins. */
async function deleteAccount(athlete: string, untilDone = true): Promise<void> {
  const { body } = await world.call<{ receipt_id: string }>(athlete, 'DELETE', '/v1/account');
  if (!untilDone) return;
  await told('the receipt of the deletion', async () => {
    const answer = await fetch(`${world.api.url}/v1/receipts/${body.receipt_id}`);
    return ((await answer.json()) as ReceiptBody).status === 'completed';
  });
}

async function newestCursor(athlete: string): Promise<string> {
  const { body } = await world.call<{ next_cursor: string }>(athlete, 'GET', '/v1/changes?after=latest');
  return body.next_cursor;
}

async function statusOf(athlete: string, cursor: string): Promise<number> {
  return (await world.call(athlete, 'GET', `/v1/changes?after=${encodeURIComponent(cursor)}`)).status;
}

async function count(statement: string, values: unknown[] = []): Promise<number> {
  return (await world.rows(statement, values)).length;
}

async function told(what: string, isSo: () => Promise<boolean>): Promise<void> {
  await eventually(what, isSo, COMPARED_MS);
  say(what);
}

function check(what: string, expected: number, found: number): void {
  checks[what] = { expected, found };
}

function say(what: string): void {
  console.log(`${new Date().toISOString().slice(11, 19)}  ${what}`);
}

function seconds(since: number): string {
  return ((performance.now() - since) / 1_000).toFixed(1);
}

function kilobytes(path: string): number {
  return Math.round(statSync(path).size / 1_024);
}
