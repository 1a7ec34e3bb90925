import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { type Connections } from '#connections';
import { timeScale } from '#platform';
import { type ActivitySource, type Sources } from '#vendors';
import { announced } from '../../../../test/harness/announced.js';
import { newAthlete } from '../../../../test/harness/athletes.js';
import { openTestDatabase, type OpenDatabase } from '../../../../test/harness/test-database.js';
import { importChangesIn } from '../activities.harness.js';
import { type TooManyImports } from './import-errors.js';
import { type ImportForecast } from './import-forecast.js';
import { ImportJobs } from './import-jobs.js';
import { type ImportTicks } from './import-ticks.js';
import { Imports, IMPORTS_AN_HOUR } from './imports.js';

let open: OpenDatabase;
beforeAll(async () => (open = await openTestDatabase()));
afterAll(() => open.close());

function imports(status: string, history: ActivitySource['history'] = 'whole', factor = 1): Imports {
  const ticks = { next: () => Promise.resolve() } as unknown as ImportTicks;
  const forecast = { etaOf: () => Promise.resolve(null) } as unknown as ImportForecast;
  // WHOOP has no activities.
  const list = () =>
    Promise.resolve([
      { provider: 'whoop', status: 'active' },
      { provider: 'strava', status },
    ]);
  const connections = { list } as unknown as Connections;
  const sources = { activities: () => ({ history }) } as unknown as Sources;
  const jobs = new ImportJobs(open.database);
  return new Imports(
    jobs,
    ticks,
    forecast,
    importChangesIn(open.database),
    connections,
    sources,
    open.database,
    timeScale(factor),
  );
}

it('an import without a vendor is from the connected vendor that has activities', async () => {
  const athleteId = await newAthlete(open.database);
  const begun = await imports('active').begin(athleteId, 'full', null);
  expect(begun).toMatchObject({ provider: 'strava', status: 'queued', message: 'Waiting to start' });
  expect((await imports('active').begin(athleteId, 'full', null, 'strava')).id).toBe(begun.id);
});

it.each([
  ['any vendor', undefined],
  ['Strava', 'strava'],
  ['a vendor without activities', 'whoop'],
] as const)(
  'an import from %s is refused without an active connection to a vendor with activities',
  async (_, asked) => {
    const athleteId = await newAthlete(open.database);
    const begun = imports('needs_reauth').begin(athleteId, 'full', null, asked);
    await expect(begun).rejects.toMatchObject({ code: 'NOT_CONNECTED' });
  },
);

it('an incremental import from a vendor without a history has no start, since the vendor’s list is short anyway', async () => {
  const athleteId = await newAthlete(open.database);
  await open.database.query(
    `insert into activity_sync (athlete_id, provider, last_sync_at) values ($1, 'strava', now())`,
    [athleteId],
  );
  const begun = await imports('active', 'since connection').begin(athleteId, 'incremental', null);
  expect(begun).toMatchObject({
    since: null,
    message: 'Waiting to start. Strava gives no history from before the connection',
  });
  const whole = await imports('active').cancel(athleteId, begun.id);
  expect(whole.status).toBe('cancelled');
  expect((await imports('active').begin(athleteId, 'incremental', null)).since).not.toBeNull();
});

it('a cancelled import is announced once, as import.failed with the status cancelled, and a second cancellation is not', async () => {
  const athleteId = await newAthlete(open.database);
  const { id } = await imports('active').begin(athleteId, 'full', null);
  const cancelled = await imports('active').cancel(athleteId, id);
  expect(await announced(open.database, athleteId)).toEqual([
    { type: 'import.failed', subject_id: id, data: { ...cancelled, status: 'cancelled' } },
  ]);
  await imports('active').cancel(athleteId, id);
  expect(await announced(open.database, athleteId)).toEqual([]);
});

it('20 imports from a vendor may begin within an hour, however they end and however far back they look', async () => {
  const athleteId = await newAthlete(open.database);
  const begin = async (athlete: string, index: number) => {
    const since = new Date(Date.UTC(2025, 0, 1) - index * 1_000);
    return imports('active').begin(athlete, 'incremental', since);
  };
  for (let index = 0; index < IMPORTS_AN_HOUR; index += 1)
    await imports('active').cancel(athleteId, (await begin(athleteId, index)).id);
  const refused = begin(athleteId, IMPORTS_AN_HOUR);
  await expect(refused).rejects.toMatchObject({ code: 'IMPORT_LIMIT', kind: 'throttled' });
  const { retryAfterSeconds } = (await refused.catch((error: unknown) => error)) as TooManyImports;
  expect(retryAfterSeconds).toBeGreaterThan(3_500);
  expect(retryAfterSeconds).toBeLessThanOrEqual(3_600);
  expect((await imports('active').list(athleteId, undefined, 50)).items).toHaveLength(IMPORTS_AN_HOUR);
  expect((await begin(await newAthlete(open.database), 0)).status).toBe('queued');
  await open.database.query(
    `update import_jobs set created_at = created_at - interval '1 hour' where athlete_id = $1`,
    [athleteId],
  );
  expect((await begin(athleteId, 0)).status).toBe('queued');
});

const DAY_MS = 86_400_000;

it.each([
  ['10,000', 51, 2],
  ['2,000', 11, 5],
  ['200', 2, IMPORTS_AN_HOUR],
])(
  'a full import of a list of %s activities (%i pages) that is cancelled after its listing may begin %i times within an hour',
  async (_, pages, times) => {
    const athleteId = await newAthlete(open.database);
    const begin = () => imports('active').begin(athleteId, 'full', null);
    for (let time = 0; time < times; time += 1) {
      const { id } = await begin();
      await open.database.query(
        `update import_jobs
         set sync_cursor = sync_cursor || jsonb_build_object('pages_listed', $2::int), created_at = now() - $3 * interval '1 minute'
         where id = $1`,
        [id, pages, times - time],
      );
      await imports('active').cancel(athleteId, id);
    }
    const refused = (await begin().catch((error: unknown) => error)) as TooManyImports;
    expect(refused).toMatchObject({ code: 'IMPORT_LIMIT', kind: 'throttled' });
    // The wait ends when the oldest import is an hour old.
    expect(refused.retryAfterSeconds).toBeGreaterThan((60 - times) * 60 - 30);
    expect(refused.retryAfterSeconds).toBeLessThanOrEqual((60 - times) * 60);
    const later = `update import_jobs set created_at = created_at - $2 * interval '1 second' where athlete_id = $1`;
    await open.database.query(later, [athleteId, refused.retryAfterSeconds]);
    expect((await begin()).status).toBe('queued');
  },
);

it('incremental imports after each cooldown are never refused, even after the import of a long history', async () => {
  const athleteId = await newAthlete(open.database);
  const end = (id: string, pages: number, minutesAgo: number) =>
    open.database.query(
      `update import_jobs
       set sync_cursor = sync_cursor || jsonb_build_object('pages_listed', $2::int), status = 'completed',
         created_at = now() - $3 * interval '1 minute', finished_at = now() - $3 * interval '1 minute'
       where id = $1`,
      [id, pages, minutesAgo],
    );
  await end((await imports('active').begin(athleteId, 'full', null)).id, 100, 59);
  const begin = () => imports('active').begin(athleteId, 'incremental', new Date(Date.now() - DAY_MS));
  for (let minutesAgo = 58; minutesAgo > 0; minutesAgo -= 5) await end((await begin()).id, 2, minutesAgo);
  expect((await begin()).status).toBe('queued');
});

it('imports of an earlier connection do not count against the limit of imports', async () => {
  const athleteId = await newAthlete(open.database);
  for (let index = 0; index < IMPORTS_AN_HOUR; index += 1)
    await imports('active').cancel(athleteId, (await imports('active').begin(athleteId, 'full', null)).id);
  await open.database.query(
    `insert into connection
       (athlete_id, provider, vendor_athlete_id, scopes, access_token, refresh_token, key_version, expires_at)
     values ($1, 'strava', $1::uuid::text, '{}', '', '', 1, now())`,
    [athleteId],
  );
  expect((await imports('active').begin(athleteId, 'full', null)).status).toBe('queued');
});

const MINUTE_S = 60;
const HOUR_S = 60 * MINUTE_S;

it.each([
  { type: 'incremental', factor: 1, withinS: 4.5 * MINUTE_S, afterS: 5.5 * MINUTE_S },
  { type: 'incremental', factor: 2, withinS: 2 * MINUTE_S, afterS: 3 * MINUTE_S },
  { type: 'full', factor: 1, withinS: 23 * HOUR_S, afterS: 25 * HOUR_S },
  { type: 'full', factor: 2, withinS: 11 * HOUR_S, afterS: 13 * HOUR_S },
] as const)(
  'at TIME_SCALE $factor, the $type import that was completed $withinS s ago is returned, and a new one begins after $afterS s',
  async ({ type, factor, withinS, afterS }) => {
    const athleteId = await newAthlete(open.database);
    await open.database.query(
      `insert into connection (
         athlete_id, provider, vendor_athlete_id, scopes, access_token, refresh_token, key_version, expires_at, connected_at
       )
       values ($1, 'strava', $1::uuid::text, '{}', '', '', 1, now(), now() - interval '30 days')`,
      [athleteId],
    );
    const asked = imports('active', 'whole', factor);
    const { id } = await asked.begin(athleteId, type, null);
    const completedAgo = (seconds: number) =>
      open.database.query(
        `update import_jobs
         set
           status = 'completed', created_at = now() - $2 * interval '1 second', started_at = now() - $2 * interval '1 second',
           finished_at = now() - $2 * interval '1 second'
         where id = $1`,
        [id, seconds],
      );
    await completedAgo(withinS);
    expect((await asked.begin(athleteId, type, null)).id).toBe(id);
    await completedAgo(afterS);
    expect((await asked.begin(athleteId, type, null)).id).not.toBe(id);
  },
);
