import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { loadSql } from '#platform';
import { newAthlete } from '../../../../test/harness/athletes.js';
import { blocksOf, plansOf, waysInto } from '../../../../test/harness/plans.js';
import { openTestDatabase, type OpenDatabase } from '../../../../test/harness/test-database.js';
import { ImportJobs } from './import-jobs.js';

let open: OpenDatabase;
beforeAll(async () => {
  open = await openTestDatabase([], { poolSize: 1, statementTimeoutMs: 60_000 });
});
afterAll(() => open.close());

async function newImport(athleteId: string, type: string, status: string, minutesAgo: number): Promise<void> {
  await open.database.query(
    `insert into import_jobs (athlete_id, provider, type, status, sync_cursor, created_at, finished_at)
     select $1, 'strava', $2, $3, '{}', now() - $4 * interval '1 minute', case when $3 = 'completed' then now() end`,
    [athleteId, type, status, minutesAgo],
  );
}

it('the latest import of an athlete is the unfinished one, or else the newest one', async () => {
  const [running, finished, none] = [
    await newAthlete(open.database),
    await newAthlete(open.database),
    await newAthlete(open.database),
  ];
  await newImport(running, 'full', 'started', 60);
  await newImport(running, 'incremental', 'completed', 5);
  await newImport(finished, 'full', 'completed', 60);
  await newImport(finished, 'incremental', 'completed', 5);
  const found = await new ImportJobs(open.database).latest([running, finished, none]);
  const byAthlete = new Map(found.map(({ athlete_id, type }) => [athlete_id, type]));
  expect(byAthlete).toEqual(
    new Map([
      [running, 'full'],
      [finished, 'incremental'],
    ]),
  );
});

it('the latest imports of a page of athletes are read by an index among 100,000 imports', async () => {
  await open.database.query(
    `with made as (
       insert into athlete (id, issuer, subject)
       select gen_random_uuid(), 'test', n::text
       from generate_series(1, 100000) n
       returning id
     )
     insert into import_jobs (athlete_id, provider, type, status, sync_cursor, finished_at)
     select id, 'strava', 'full', 'completed', '{}', now()
     from made`,
  );
  await open.database.query('vacuum analyze import_jobs');
  const { rows } = await open.database.query<{ id: string }>('select id from athlete order by id limit 50');
  const { text } = loadSql(import.meta.url, './sql/latest-imports.sql');
  for (const plan of await plansOf(open.database, text, [rows.map(({ id }) => id)])) {
    expect(waysInto('import_jobs', plan)).not.toContain('all of import_jobs');
    expect(blocksOf(plan)).toBeLessThan(500);
  }
}, 60_000);
