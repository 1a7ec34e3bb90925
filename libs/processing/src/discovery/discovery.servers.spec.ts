import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type Database, type Sql, timeScale } from '#platform';
import { newAthlete } from '../../../../test/harness/athletes.js';
import { openTestDatabase, type OpenDatabase } from '../../../../test/harness/test-database.js';
import { type RunOutcome } from '../lifecycle/run.js';
import {
  requestsOf,
  complete,
  FAILED,
  jobsOf,
  LEASE_MS,
  newActivity,
  silent,
} from '../processing.harness.js';
import { Jobs } from '../lifecycle/jobs.js';
import { Runs } from '../lifecycle/runs.js';
import { Discovery } from './discovery.js';
import { type NewActivities } from './discovery.js';

/** A source whose activities may all be processed. */
const all: NewActivities = {
  async find(sql: Sql, most: number) {
    const { rows } = await sql.query<{ id: string; athlete_id: string }>(
      `select id, athlete_id
       from activity
       where (first_seen_at is null or seen_revision < input_revision)
         and not exists (
           select 1 from jobs where activity_id = activity.id and finished_at_utc is null and waits_for is null
         )
       order by start_time desc
       limit $1
       for no key update skip locked`,
      [most],
    );
    return rows;
  },
};

describe('Discovery', () => {
  let open: OpenDatabase;
  let sql: Database;
  let jobs: Jobs;
  let runs: Runs;
  let ann: string;
  beforeAll(async () => {
    open = await openTestDatabase();
    sql = open.database;
    jobs = new Jobs(sql);
    runs = new Runs(sql);
  });
  afterAll(() => open.close());
  beforeEach(async () => {
    await sql.query('delete from athlete');
    ann = await newAthlete(sql);
  });

  const discovery = (activities = all) => new Discovery(jobs, sql, activities, timeScale(1), silent);
  const seen = async () => {
    const statement =
      'select id from activity where first_seen_at is not null and last_seen_at = first_seen_at';
    return (await sql.query<{ id: string }>(statement)).rows.map(({ id }) => id);
  };
  const statuses = async (id: string) => (await jobsOf(sql, id)).map(({ status }) => status);

  it('discovery creates one automatic job per activity, for all athletes, and records the activities as seen', async () => {
    const ids = [await newActivity(sql, ann), await newActivity(sql, await newAthlete(sql))];
    expect(await discovery().runOnce()).toBe(2);
    expect(await discovery().runOnce()).toBe(0);
    for (const id of ids)
      expect(await jobsOf(sql, id)).toMatchObject([
        { request_kind: 'auto_poll', requested_by: 'worker', priority: 0, force_update: false },
      ]);
    expect((await seen()).sort()).toEqual([...ids].sort());
  });

  it('discovery creates no job for a processed activity, and records it as seen', async () => {
    const id = await newActivity(sql, ann);
    await requestsOf(jobs, ann).automatic(id);
    const [claim] = await runs.claim('me', 1, LEASE_MS);
    await runs.start('me', [claim!]);
    await complete(runs, 'me', claim!);
    expect(await discovery().runOnce()).toBe(1);
    expect(await statuses(id)).toEqual(['succeeded']);
    expect(await discovery().runOnce()).toBe(0);
  });

  it('discovery creates another job for an activity whose claimed job has ended, since that job may have read older inputs', async () => {
    const id = await newActivity(sql, ann);
    await requestsOf(jobs, ann).forced(id);
    const [claim] = await runs.claim('me', 1, LEASE_MS);
    // The activity was found before its job was created.
    const stale: NewActivities = { find: () => Promise.resolve([{ id, athlete_id: ann }]) };
    expect(await discovery(stale).runOnce()).toBe(0);
    expect(await discovery().runOnce()).toBe(0);
    expect(await seen()).toEqual([]);
    await runs.start('me', [claim!]);
    await complete(runs, 'me', claim!, FAILED);
    expect(await discovery().runOnce()).toBe(1);
    expect(await statuses(id)).toEqual(['failed_permanent', 'queued']);
  });

  const edit = (id: string) =>
    sql.query('update activity set input_revision = input_revision + 1 where id = $1', [id]);
  async function processOnce(work: () => Promise<unknown> = () => Promise.resolve()): Promise<void> {
    const [claim] = await runs.claim('me', 1, LEASE_MS);
    await runs.start('me', [claim!]);
    await work();
    await complete(runs, 'me', claim!);
  }

  it('discovery creates an unforced job for an activity with changed inputs, and updates its last_seen_at', async () => {
    const id = await newActivity(sql, ann);
    await discovery().runOnce();
    await processOnce();
    await edit(id);
    expect(await discovery().runOnce()).toBe(1);
    expect(await jobsOf(sql, id)).toMatchObject([{}, { status: 'queued', force_update: false }]);
    await processOnce();
    expect(await statuses(id)).toEqual(['succeeded', 'succeeded']);
    expect(await discovery().runOnce()).toBe(0);
    const { rows } = await sql.query('select last_seen_at > first_seen_at as is_later from activity');
    expect(rows).toEqual([{ is_later: true }]);
  });

  it('discovery creates a second job for an activity that changed during its run, and none for a change before the run', async () => {
    const [during, before] = [await newActivity(sql, ann), await newActivity(sql, ann)];
    await requestsOf(jobs, ann).forced(during);
    await processOnce(() => edit(during));
    await requestsOf(jobs, ann).forced(before);
    await edit(before);
    await processOnce();
    expect(await discovery().runOnce()).toBe(2);
    expect([await statuses(during), await statuses(before)]).toEqual([
      ['succeeded', 'queued'],
      ['succeeded'],
    ]);
    expect(await discovery().runOnce()).toBe(0);
  });

  it('discovery makes a waiting job due, only once, if the activity has a revision that discovery has not seen', async () => {
    const id = await newActivity(sql, ann);
    await requestsOf(jobs, ann).forced(id);
    const waiting: RunOutcome = { kind: 'waiting', waitsFor: 'streams', afterMs: 3_600_000 };
    const [claim] = await runs.claim('me', 1, LEASE_MS);
    await runs.start('me', [claim!]);
    await complete(runs, 'me', claim!, waiting);
    expect(await runs.claim('me', 1, LEASE_MS)).toEqual([]);
    expect(await discovery().runOnce()).toBe(1);
    const [again] = await runs.claim('me', 1, LEASE_MS);
    await runs.start('me', [again!]);
    await complete(runs, 'me', again!, waiting);
    expect(await discovery().runOnce()).toBe(0);
    expect(await runs.claim('me', 1, LEASE_MS)).toEqual([]);
    expect(await jobsOf(sql, id)).toMatchObject([{ status: 'retry_wait', attempt_count: 0 }]);
  });

  it('discovery keeps at most 200 jobs waiting, newest activities first, so that a new upload overtakes a long history', async () => {
    await sql.query(
      `insert into activity (
         provider, athlete_id, name, sport_type, start_time, distance_m, moving_time_s, elapsed_time_s, elevation_gain_m, manual, private,
         total_photo_count, asked_at
       )
       select 'strava', $1, 'Run', 'Run', now() - n * interval '1 day', 1, 1, 1, 0, true, false, 0, now()
       from generate_series(1, 300) as n`,
      [ann],
    );
    expect(await discovery().runOnce()).toBe(200);
    expect(await discovery().runOnce()).toBe(0);
    const newest = await newActivity(sql, ann);
    for (const claim of await runs.claim('me', 10, LEASE_MS)) {
      await runs.start('me', [claim]);
      await complete(runs, 'me', claim);
    }
    expect(await discovery().runOnce()).toBe(10);
    expect(await statuses(newest)).toEqual(['queued']);
    const { rows } = await sql.query<{ days: number }>(
      `select round(extract(epoch from now() - max(start_time)) / 86400)::int as days
       from activity where first_seen_at is null`,
    );
    expect(rows).toEqual([{ days: 210 }]);
  });

  it('discovery finds an activity again after its transaction failed', async () => {
    const id = await newActivity(sql, ann);
    const failing = discovery();
    await sql.query(`alter table activity add constraint no_news check (first_seen_at is null) not valid`);
    await expect(failing.runOnce()).rejects.toThrow('no_news');
    await sql.query('alter table activity drop constraint no_news');
    expect([await statuses(id), await seen()]).toEqual([[], []]);
    expect(await failing.runOnce()).toBe(1);
  });

  it('discovery in four workers at once creates one job per activity', async () => {
    const ids = await Promise.all(Array.from({ length: 20 }, () => newActivity(sql, ann)));
    const found = await Promise.all([1, 2, 3, 4].map(() => discovery().runOnce()));
    expect(found.reduce((sum, one) => sum + one, 0)).toBe(20);
    for (const id of ids) expect(await statuses(id)).toEqual(['queued']);
  });
});
