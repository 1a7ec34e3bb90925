import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { newAthlete } from '../../../../test/harness/athletes.js';
import { blocksOf, plansOf, waysInto } from '../../../../test/harness/plans.js';
import { openTestDatabase, type OpenDatabase } from '../../../../test/harness/test-database.js';
import { type ImportJob, type ImportStatus } from './import-job.js';
import { ImportList, statementFor } from './import-list.js';
import { type Imports } from './imports.js';

const MANY = 100_000;
const ATHLETES = 1_000;
// A page of 51 imports reads some blocks for each; a full scan would read thousands.
const MOST_BLOCKS = 300;

describe(`the list of ${MANY} imports of all athletes`, () => {
  let open: OpenDatabase;
  let athlete: string;
  let list: ImportList;
  beforeAll(async () => {
    open = await openTestDatabase([], { poolSize: 1, statementTimeoutMs: 120_000 });
    const { database } = open;
    athlete = await newAthlete(database);
    const imports = { viewOf: ({ id, status }: ImportJob) => Promise.resolve({ id, status }) };
    list = new ImportList(database, imports as unknown as Imports);
    await database.query(
      `insert into athlete (id, issuer, subject)
       select gen_random_uuid(), 'test', n::text from generate_series(2, $1::int) n`,
      [ATHLETES],
    );
    await database.query(
      `insert into import_jobs (athlete_id, provider, type, status, sync_cursor, created_at, finished_at, error)
       select
         (array(select id from athlete order by subject))[1 + n % $2::int], 'strava', 'full',
         case n % 100 when 0 then 'failed' when 1 then 'cancelled' else 'completed' end,
         '{}', now() - n * interval '1 minute', now(), null
       from generate_series(1, $1::int) n`,
      [MANY, ATHLETES],
    );
    await database.query(
      `insert into import_jobs (athlete_id, provider, type, status, sync_cursor) values ($1, 'strava', 'full', 'queued', '{}')`,
      [athlete],
    );
    await database.query('vacuum analyze import_jobs');
  }, 180_000);
  afterAll(() => open.close());

  it('lists imports of all athletes page by page, newest first, each with its athlete', async () => {
    const first = await list.page({ limit: 2 });
    expect(first.items[0]).toMatchObject({ athlete_id: athlete, status: 'queued' });
    const second = await list.page({ limit: 2, cursor: first.next_cursor! });
    const all = await list.page({ limit: 4 });
    expect([...first.items, ...second.items]).toEqual(all.items);
    expect(all.next_cursor).not.toBeNull();
  });

  it('lists imports by status, by athlete and by both', async () => {
    const statuses = (items: ReadonlyArray<{ readonly status: string }>) => [
      ...new Set(items.map(({ status }) => status)),
    ];
    expect(statuses((await list.page({ status: 'failed', limit: 200 })).items)).toEqual(['failed']);
    const own = await list.page({ athleteId: athlete, limit: 200 });
    expect(own.items).toHaveLength(MANY / ATHLETES + 1);
    expect(new Set(own.items.map(({ athlete_id }) => athlete_id))).toEqual(new Set([athlete]));
    const queued = await list.page({ athleteId: athlete, status: 'queued', limit: 200 });
    expect([queued.items.length, queued.next_cursor]).toEqual([1, null]);
  });

  it.each<[ImportStatus | undefined, boolean, string]>([
    [undefined, false, 'import_jobs_recent'],
    ['completed', false, 'import_jobs_recent'],
    ['failed', false, 'import_jobs_unhappy'],
    ['cancelled', false, 'import_jobs_unhappy'],
    ['queued', false, 'import_jobs_unfinished'],
    [undefined, true, 'import_jobs_newest'],
  ])('a page of imports in the status %s (of one athlete: %s) is read by %s', async (status, own, index) => {
    const { text } = statementFor(status, own);
    for (const place of [
      [null, null],
      [new Date(Date.now() - 86_400_000).toISOString(), randomUUID()],
    ])
      for (const plan of await plansOf(open.database, text, [...place, 51, ...(own ? [athlete] : [])])) {
        expect(waysInto('import_jobs', plan)).toEqual([index]);
        expect(blocksOf(plan)).toBeLessThan(MOST_BLOCKS);
      }
  });
});
