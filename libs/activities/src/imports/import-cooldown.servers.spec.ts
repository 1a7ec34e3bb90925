import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { keysetOf } from '#platform';
import { newAthlete } from '../../../../test/harness/athletes.js';
import { countedStatements } from '../../../../test/harness/counted-statements.js';
import { openTestDatabase, type OpenDatabase } from '../../../../test/harness/test-database.js';
import { anActivity, atStrava } from '../activities.harness.js';
import { ActivityStore } from '../activity-store.js';
import { type ImportJob, type ImportType, type ImportClaim } from './import-job.js';
import { ImportJobs } from './import-jobs.js';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
const LAST_WEEK = new Date('2026-11-11T00:00:00Z');
const LAST_MONTH = new Date('2026-10-18T00:00:00Z');

let open: OpenDatabase;
let jobs: ImportJobs;
let athleteId: string;
beforeAll(async () => {
  open = await openTestDatabase();
  jobs = new ImportJobs(open.database);
});
beforeEach(async () => {
  athleteId = await newAthlete(open.database);
  await open.database.query(
    `insert into connection
       (athlete_id, provider, vendor_athlete_id, scopes, access_token, refresh_token, key_version, expires_at, connected_at)
     values ($1, 'strava', $1::uuid::text, '{}', '', '', 1, now(), now() - interval '30 days')`,
    [athleteId],
  );
});
afterAll(() => open.close());

const request = (type: ImportType, since: Date | null = null, cooldownMs = HOUR_MS) =>
  jobs.createOrFind(atStrava(athleteId), type, since, { cooldownMs });

async function completed(type: ImportType, since: Date | null = null): Promise<ImportJob> {
  const { job } = await request(type, since, 0);
  const claim = (await jobs.claim(job.id, '0', HOUR_MS)) as ImportClaim;
  await jobs.finish(open.database, claim, { status: 'completed' });
  return job;
}

const ago = (minutes: number, id: string) =>
  open.database.query(
    `update import_jobs
     set created_at = created_at - $2 * interval '1 minute', finished_at = finished_at - $2 * interval '1 minute'
     where id = $1`,
    [id, minutes],
  );

describe('a request for an import', () => {
  it.each(['full', 'incremental'] as const)(
    'a request returns the %s import that was just completed, and creates a new import after the cooldown',
    async (type) => {
      const first = await completed(type);
      const found = await request(type);
      expect([found.job.id, found.job.status, found.isNew]).toEqual([first.id, 'completed', false]);
      await ago(61, first.id);
      expect((await request(type)).isNew).toBe(true);
    },
  );

  it.each<[covered: Date | null, asked: Date | null, isNew: boolean]>([
    [null, null, false],
    [null, LAST_MONTH, false],
    [LAST_WEEK, LAST_WEEK, false],
    [LAST_MONTH, LAST_WEEK, false],
    [LAST_WEEK, LAST_MONTH, true],
    [LAST_WEEK, null, true],
  ])(
    'a full import since %p, then a request since %p: the request creates a new import: %p',
    async (covered, asked, isNew) => {
      await completed('full', covered);
      expect((await request('full', asked)).isNew).toBe(isNew);
    },
  );

  it('a request without since creates an import if the completed import did not reach back to the last sync', async () => {
    await open.database.query(
      `insert into activity_sync (athlete_id, provider, last_sync_at) values ($1, 'strava', $2)`,
      [athleteId, LAST_MONTH],
    );
    await completed('incremental', LAST_WEEK);
    const { job, isNew } = await request('incremental');
    expect([isNew, job.since]).toEqual([true, new Date('2026-10-15T00:00:00Z')]);
  });

  it('a request returns the unfinished import rather than a completed one', async () => {
    const first = await completed('full', LAST_WEEK);
    const { job } = await request('full');
    expect(job.id).not.toBe(first.id);
    expect(await request('full', LAST_WEEK)).toMatchObject({ job: { id: job.id }, isNew: false });
  });

  it.each(['failed', 'cancelled'])(
    'a request creates an import if the status of the last one is %s',
    async (status) => {
      const first = await completed('full');
      await open.database.query('update import_jobs set status = $2 where id = $1', [first.id, status]);
      expect((await request('full')).isNew).toBe(true);
    },
  );

  it('a request creates an import if the completed import is of another type, another athlete or a former connection', async () => {
    await completed('full');
    expect((await request('incremental')).isNew).toBe(true);
    const reconnected = 'update connection set connected_at = clock_timestamp() where athlete_id = $1';
    await open.database.query(reconnected, [athleteId]);
    expect((await request('full')).isNew).toBe(true);
    athleteId = await newAthlete(open.database);
    expect((await request('full')).isNew).toBe(true);
  });

  it('simultaneous requests after the cooldown return one import', async () => {
    await ago(61, (await completed('full')).id);
    const answers = await Promise.all(Array.from({ length: 8 }, () => request('full')));
    expect(new Set(answers.map(({ job }) => job.id)).size).toBe(1);
  });
});

describe('activities that were set aside', () => {
  const statuses = async () =>
    (
      await open.database.query<{ detail_status: string; photos_status: string }>(
        'select detail_status, photos_status from activity where athlete_id = $1 order by external_activity_id',
        [athleteId],
      )
    ).rows.map(({ detail_status, photos_status }) => `${detail_status} ${photos_status}`);
  const setAside = () =>
    open.database.query(
      `update activity set detail_status = 'set_aside', photos_status = 'set_aside' where athlete_id = $1 and external_activity_id <> '3'`,
      [athleteId],
    );
  const reopenFor = async (job: ImportJob) =>
    (await jobs.mayReopen(open.database, job, DAY_MS)) ? jobs.reopenSetAside(job) : 0;
  const REOPENED = ['pending pending', 'pending pending', 'pending none'];
  const LEFT = ['set_aside set_aside', 'set_aside set_aside', 'pending none'];

  it('a new import retries activities that were set aside, once a day for any number of imports', async () => {
    const activities = ['1', '2', '3'].map((id) => anActivity({ id, totalPhotoCount: 0 }));
    await new ActivityStore().saveSummaries(open.database, atStrava(athleteId), activities, new Date(0));
    const first = await completed('full');
    // Nothing was set aside, so the next import may still reopen activities.
    await reopenFor(first);
    await setAside();
    const second = await completed('incremental');
    await reopenFor(second);
    expect(await statuses()).toEqual(REOPENED);
    await setAside();
    const third = await completed('incremental');
    await reopenFor(third);
    expect(await statuses()).toEqual(LEFT);
    await open.database.query(`update import_jobs set reopened_at = reopened_at - interval '25 hours'`);
    await reopenFor(third);
    expect(await statuses()).toEqual(REOPENED);
  });
});

it('a new import makes 2,500 set-aside activities pending again in statements of 1,000 rows at most', async () => {
  await open.database.query(
    `insert into activity (
       athlete_id, provider, external_activity_id, name, sport_type, start_time, distance_m, moving_time_s, elapsed_time_s,
       elevation_gain_m, manual, private, total_photo_count, asked_at, detail_status
     )
     select $1, 'strava', n, 'Run', 'Run', now(), 1, 1, 1, 1, false, false, 0, now(), 'set_aside'
     from generate_series(1, 2500) as n`,
    [athleteId],
  );
  const { job } = await request('full');
  expect(await jobs.mayReopen(open.database, job, DAY_MS)).toBe(true);
  const { database, counts } = countedStatements(open.database);
  expect(await new ImportJobs(database).reopenSetAside(job)).toBe(2_500);
  expect(counts).toEqual([1_000, 1_000, 500]);
});

describe('the list of imports', () => {
  it('the list of imports is newest first, page by page, without the imports of other athletes', async () => {
    const ids: string[] = [];
    for (const minutes of [30, 20, 20, 10]) {
      const { id } = await completed('full');
      await ago(minutes, id);
      ids.unshift(id);
    }
    // Two imports of the same microsecond differ by their ids.
    await open.database.query(
      `update import_jobs set created_at = '2026-11-18T08:00:00.123456Z' where id = any ($1)`,
      [ids.slice(1, 3)],
    );
    const own = athleteId;
    athleteId = await newAthlete(open.database);
    await request('full');
    const whole = (await jobs.list(own, undefined, 10)).map(({ id }) => id);
    expect([...whole].sort()).toEqual([...ids].sort());
    const paged: string[] = [];
    for (let after: { place: string; id: string } | undefined; ;) {
      const [row] = await jobs.list(own, after, 1);
      if (!row) break;
      paged.push(row.id);
      after = { place: row.place, id: row.id };
    }
    expect(paged).toEqual(whole);
  });

  it('the list of imports is read by an index', async () => {
    await open.database.query(
      `insert into import_jobs (athlete_id, provider, type, status, finished_at, sync_cursor)
       select id, 'strava', 'full', 'completed', now(), '{}' from athlete, generate_series(1, 2000)`,
    );
    await open.database.query('analyze import_jobs');
    const { rows } = await open.database.query<{ 'QUERY PLAN': unknown }>(
      `explain (format json) select * from import_jobs
       where athlete_id = '${athleteId}' and (created_at, id) < (now(), gen_random_uuid())
       order by created_at desc, id desc limit 50`,
    );
    const plan = JSON.stringify(rows);
    expect(plan).toContain('import_jobs_newest');
    expect(plan).not.toContain('Sort');
  });

  it.each(['x', Buffer.from('2026-02-30T00:00:00.000000Z').toString('base64url')])(
    'the list of imports refuses a cursor that the server did not issue: %s',
    (cursor) => expect(() => keysetOf(cursor)).toThrow('Validation failed'),
  );
});
