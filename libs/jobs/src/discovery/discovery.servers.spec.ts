import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type Database, type Sql, timeScale } from '#platform';
import { newAthlete } from '../../../../test/harness/athletes.js';
import { openTestDatabase, type OpenDatabase } from '../../../../test/harness/test-database.js';
import { asker, complete, FAILED, jobsOf, LEASE_MS, newActivity, silent } from '../jobs.harness.js';
import { Jobs } from '../lifecycle/jobs.js';
import { Runs } from '../lifecycle/runs.js';
import { Discovery } from './discovery.js';
import { type NewActivities } from './new-activities.js';

/** All activities may be processed. */
const all: NewActivities = {
  async find(sql: Sql, most: number) {
    const { rows } = await sql.query<{ id: string; athlete_id: string }>(
      `select id, athlete_id
       from activity
       where first_seen_at is null
         and not exists (select 1 from jobs where activity_id = activity.id and finished_at_utc is null)
       order by start_time desc
       limit $1
       for no key update skip locked`,
      [most],
    );
    return rows;
  },
};

describe('discovery', () => {
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

  it('asks once for each, whoever they belong to, and remembers it', async () => {
    const ids = [await newActivity(sql, ann), await newActivity(sql, await newAthlete(sql))];
    expect(await discovery().runOnce()).toBe(2);
    expect(await discovery().runOnce()).toBe(0);
    for (const id of ids)
      expect(await jobsOf(sql, id)).toMatchObject([
        { request_kind: 'auto_poll', requested_by: 'worker', priority: 0, force_update: false },
      ]);
    expect((await seen()).sort()).toEqual([...ids].sort());
  });

  it('does not ask for what has been processed, and looks no more', async () => {
    const id = await newActivity(sql, ann);
    await asker(jobs, ann).automatic(id);
    const [claim] = await runs.claim('me', 1, LEASE_MS);
    await runs.start('me', [claim!]);
    await complete(runs, 'me', claim!);
    expect(await discovery().runOnce()).toBe(1);
    expect(await statuses(id)).toEqual(['succeeded']);
    expect(await discovery().runOnce()).toBe(0);
  });

  it('looks again where a job was under way that may have begun without what is new', async () => {
    const id = await newActivity(sql, ann);
    await asker(jobs, ann).forced(id);
    // It was found before that job was made.
    const blind: NewActivities = { find: () => Promise.resolve([{ id, athlete_id: ann }]) };
    expect(await discovery(blind).runOnce()).toBe(0);
    expect(await discovery().runOnce()).toBe(0);
    expect(await seen()).toEqual([]);
    const [claim] = await runs.claim('me', 1, LEASE_MS);
    await runs.start('me', [claim!]);
    await complete(runs, 'me', claim!, FAILED);
    expect(await discovery().runOnce()).toBe(1);
    expect(await statuses(id)).toEqual(['failed_permanent', 'queued']);
  });

  it('leaves a long history where it is, so that what is newer comes before it', async () => {
    await sql.query(
      `insert into activity (
         athlete_id, name, sport_type, start_time, distance_m, moving_time_s, elapsed_time_s, elevation_gain_m, manual, private,
         total_photo_count, asked_at
       )
       select $1, 'Run', 'Run', now() - n * interval '1 day', 1, 1, 1, 0, true, false, 0, now()
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

  it('forgets nothing where its transaction fails', async () => {
    const id = await newActivity(sql, ann);
    const failing = discovery();
    await sql.query(`alter table activity add constraint no_news check (first_seen_at is null) not valid`);
    await expect(failing.runOnce()).rejects.toThrow('no_news');
    await sql.query('alter table activity drop constraint no_news');
    expect([await statuses(id), await seen()]).toEqual([[], []]);
    expect(await failing.runOnce()).toBe(1);
  });

  it('asks once however many workers discover', async () => {
    const ids = await Promise.all(Array.from({ length: 20 }, () => newActivity(sql, ann)));
    const found = await Promise.all([1, 2, 3, 4].map(() => discovery().runOnce()));
    expect(found.reduce((sum, one) => sum + one, 0)).toBe(20);
    for (const id of ids) expect(await statuses(id)).toEqual(['queued']);
  });
});
