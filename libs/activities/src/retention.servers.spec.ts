import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { createLogger, loadSql, type Sweeps, timeScale } from '#platform';
import { type ProductConfig } from '#vendors';
import { newAthlete } from '../../../test/harness/athletes.js';
import { blocksOf, plansOf, waysInto } from '../../../test/harness/plans.js';
import { openTestDatabase, type OpenDatabase } from '../../../test/harness/test-database.js';
import { ImportJobs } from './imports/import-jobs.js';
import { Retention } from './retention.js';
import { atStrava } from './activities.harness.js';

let open: OpenDatabase;
beforeAll(async () => {
  open = await openTestDatabase([], { poolSize: 1, statementTimeoutMs: 60_000 });
});
afterAll(() => open.close());

it('retention deletes a vendor’s activities by the time when their detail was stored, not when they were listed', async () => {
  const athlete = await newAthlete(open.database);
  await open.database.query(
    `insert into activity (
       provider, athlete_id, external_activity_id, name, sport_type, start_time, distance_m, moving_time_s, elapsed_time_s,
       elevation_gain_m, manual, private, total_photo_count, asked_at, detail_status, detail_stored_at
     )
     select 'strava', $1, days::text, 'Run', 'Run', now(), 1, 1, 1, 1, false, false, 0, now(), 'stored', now() - days * interval '1 day'
     from generate_series(5, 9) days`,
    [athlete],
  );
  await open.database.query(
    `insert into activity (
       athlete_id, provider, external_activity_id, name, sport_type, start_time, distance_m, moving_time_s, elapsed_time_s,
       elevation_gain_m, manual, private, total_photo_count, asked_at, detail_status, detail_stored_at
     )
     select $1, 'oura', 'other', 'Run', 'Run', now(), 1, 1, 1, 1, false, false, 0, now(), 'stored', now() - interval '9 days'`,
    [athlete],
  );
  const config = { vendors: { strava: { retentionDays: 7 } } } as ProductConfig;
  const logger = createLogger({ level: 'silent', process: 'test' });
  await new Retention(open.database, {} as Sweeps, config, timeScale(1), logger).runOnce();
  const { rows } = await open.database.query<{ external_activity_id: string }>(
    'select external_activity_id from activity where athlete_id = $1 order by 1',
    [athlete],
  );
  expect(rows.map(({ external_activity_id }) => external_activity_id)).toEqual(['5', '6', 'other']);
});

const DAY_MS = 86_400_000;
// The query reads the blocks of an index and of the rows found. A scan of all activities would read thousands of blocks.
const MOST_BLOCKS = 400;

it('retention finds activities past their retention by an index, whether there are any or none', async () => {
  await open.database.query(
    `insert into activity (
       provider, athlete_id, external_activity_id, name, sport_type, start_time, distance_m, moving_time_s, elapsed_time_s,
       elevation_gain_m, manual, private, total_photo_count, asked_at, created_at
     )
     select 'strava', $1, n::text, 'Run', 'Run', now(), 1, 1, 1, 1, false, false, 0, now(), now() - n * interval '1 minute'
     from generate_series(100001, 150000) n`,
    [await newAthlete(open.database)],
  );
  await open.database.query('vacuum analyze');
  const { text } = loadSql(import.meta.url, './sql/purge-activities.sql');
  for (const keptMs of [1_000 * DAY_MS, 30 * DAY_MS])
    for (const plan of await plansOf(open.database, text, [keptMs, 10, 'strava'])) {
      expect(waysInto('activity', plan)).toContain('activity_fetched_at');
      expect(waysInto('activity', plan)).not.toContain('all of activity');
      expect(blocksOf(plan)).toBeLessThan(MOST_BLOCKS);
    }
}, 60_000);

it('the purge keeps an athlete’s last import of a type, and deletes others by an index 90 days after the next import', async () => {
  const imports = new ImportJobs(open.database);
  const [ann, ben] = [await newAthlete(open.database), await newAthlete(open.database)];
  for (const athlete of [ann, ann, ben])
    for (const type of ['full', 'incremental'] as const) {
      const { job } = await imports.createOrFind(atStrava(athlete), type, null);
      await imports.cancel(athlete, job.id);
    }
  const left = async () =>
    (await open.database.query('select athlete_id, type from import_jobs order by athlete_id, type')).rows;
  expect(await imports.purge(90 * DAY_MS)).toBe(0);
  await open.database.query(`update import_jobs set superseded_at = superseded_at - interval '91 days'`);
  expect(await imports.purge(90 * DAY_MS)).toBe(2);
  expect(await left()).toHaveLength(4);

  await open.database.query(
    `insert into athlete (id, issuer, subject) select gen_random_uuid(), 'test', n::text from generate_series(1, 200) n`,
  );
  await open.database.query(
    `insert into import_jobs (athlete_id, provider, type, status, sync_cursor, finished_at)
     select id, 'strava', 'full', 'completed', '{}', now() from athlete, generate_series(1, 100) where issuer = 'test'`,
  );
  await open.database.query('vacuum analyze import_jobs');
  const { text } = loadSql(import.meta.url, './imports/sql/purge-superseded.sql');
  for (const plan of await plansOf(open.database, text, [90 * DAY_MS, 10]))
    expect(waysInto('import_jobs', plan)).toEqual(['import_jobs_pkey', 'import_jobs_superseded']);
  const neverImported = loadSql(import.meta.url, './imports/sql/never-imported.sql');
  for (const plan of await plansOf(open.database, neverImported.text, [100, ['strava'], null]))
    expect(waysInto('import_jobs', plan)).not.toContain('all of import_jobs');
  const counts = await imports.countByStatus();
  expect(counts.get('cancelled')).toBe(4);
  expect(counts.get('completed')! / 20_300).toBeCloseTo(1, 1);
});
