import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { loadSql } from '#platform';
import { newAthlete } from '../../../../test/harness/athletes.js';
import { blocksOf, plansOf, waysInto } from '../../../../test/harness/plans.js';
import { openTestDatabase, type OpenDatabase } from '../../../../test/harness/test-database.js';
import { LEASE_MS } from '../processing.harness.js';
import { type JobStatus } from './job.js';
import { JobList, statementFor } from './job-list.js';
import { Jobs } from './jobs.js';
import { Runs } from './runs.js';

const WAITING = 500;
const IDS = [[], [], []];

/** Statistics lag: they may have been gathered while no job was unfinished, and the queue may be full now. */
describe('query plans with statistics of finished jobs only', () => {
  let open: OpenDatabase;
  beforeAll(async () => {
    open = await openTestDatabase([], { poolSize: 1 });
    const sql = open.database;
    const athleteId = await newAthlete(sql);
    const activities = async (count: number) => {
      const { rows } = await sql.query<{ id: string }>(
        `insert into activity (
           provider, athlete_id, external_activity_id, name, sport_type, start_time, distance_m, moving_time_s, elapsed_time_s,
           elevation_gain_m, manual, private, total_photo_count, asked_at
         )
         select 'strava', $1, gen_random_uuid()::text, 'Run', 'Run', now(), 10000, 3600, 3600, 100, false, false, 0, now()
         from generate_series(1, $2::int)
         returning id`,
        [athleteId, count],
      );
      return rows.map(({ id }) => id);
    };
    await sql.query(
      `insert into jobs (athlete_id, activity_id, request_kind, requested_by, max_attempts, status, finished_at_utc)
       select $1, id, 'auto_poll', 'test', 3, 'succeeded', now() from unnest($2::uuid[]) as id`,
      [athleteId, await activities(3_000)],
    );
    await sql.query('vacuum analyze');
    const activityIds = await activities(2 * WAITING);
    await new Jobs(sql).enqueue({ athleteId, activityIds, kind: 'auto_poll', requestedBy: 'test' });
    await new Runs(sql).claim('me', WAITING, LEASE_MS);
  });
  afterAll(() => open.close());

  it.each<[string, string, readonly unknown[]]>([
    ['claim', 'jobs_claimable', ['me', 1, LEASE_MS, 1_000]],
    ['start', 'jobs_pkey', [...IDS, 'me']],
    ['complete', 'jobs_pkey', ['me', ...Array.from({ length: 11 }, () => [])]],
    ['skip', 'jobs_pkey', [randomUUID(), randomUUID(), randomUUID(), 'me']],
    ['renew', 'jobs_pkey', [...IDS, 'me', LEASE_MS]],
    ['release', 'jobs_pkey', [...IDS, 'me']],
    ['cancel', 'jobs_pkey', [randomUUID(), randomUUID()]],
    ['claim-alone', 'jobs_claimable_alone', ['me', LEASE_MS]],
    ['requeue-expired', 'jobs_leased', [1, 3]],
  ])(
    'the plan of %s.sql uses the index %s, even if the statistics contain no unfinished job',
    async (statement, index, values) => {
      const { text } = loadSql(import.meta.url, `./sql/${statement}.sql`);
      const { rows } = await open.database.query<Record<'QUERY PLAN', string>>(`explain ${text}`, values);
      const plan = rows.map((row) => row['QUERY PLAN']).join('\n');
      const ways = [...plan.matchAll(/(?:Index (?:Only )?Scan using (\w+)|(Seq Scan)) on jobs/g)].map(
        ([, used, whole]) => used ?? whole,
      );
      expect(ways[0]).toBe(index);
      expect(ways).not.toContain('Seq Scan');
    },
  );
});

/** The state after years: nearly all jobs have ended, and no statement may read ended jobs to find unfinished ones. */
describe('query plans with 50,000 ended jobs', () => {
  let open: OpenDatabase;
  /** An athlete with three jobs. */
  let few: string;
  beforeAll(async () => {
    open = await openTestDatabase([], { poolSize: 1, statementTimeoutMs: 60_000 });
    const sql = open.database;
    few = await newAthlete(sql);
    await sql.query(
      `insert into activity (
         provider, athlete_id, external_activity_id, name, sport_type, start_time, distance_m, moving_time_s, elapsed_time_s,
         elevation_gain_m, manual, private, total_photo_count, asked_at
       )
       select
         'strava', case when n > 3 then $1::uuid else $2::uuid end, n, 'Run', 'Run', now(), 10000, 3600, 3600, 100, false, false,
         0, now()
       from generate_series(1, 50000) n`,
      [await newAthlete(sql), few],
    );
    await sql.query(
      `insert into jobs (
         athlete_id, activity_id, request_kind, requested_by, max_attempts, status, requested_at_utc, finished_at_utc,
         superseded_at_utc
       )
       select
         athlete_id, id, 'auto_poll', 'test', 3,
         case n % 100 when 0 then 'cancelled' when 1 then 'failed_permanent' else 'succeeded' end,
         now() - n * interval '1 minute', now(),
         case when n % 1000 = 0 then now() - interval '31 days' when n % 10 = 0 then now() end
       from (select athlete_id, id, external_activity_id::integer as n from activity) numbered`,
    );
    await sql.query('vacuum analyze');
  }, 120_000);
  afterAll(() => open.close());

  // A page of 51 jobs and their activities reads some blocks for each; a full scan would read thousands.
  const MOST_BLOCKS = 700;

  it.each<[JobStatus | undefined, string]>([
    [undefined, 'jobs_newest'],
    ['succeeded', 'jobs_newest'],
    ['failed_permanent', 'jobs_failed'],
    ['cancelled', 'jobs_cancelled'],
  ])('a page of jobs in the status %s is read through the index %s alone', async (status, index) => {
    for (const place of [
      [null, null],
      [new Date(Date.now() - 86_400_000).toISOString(), randomUUID()],
    ])
      for (const plan of await plansOf(open.database, statementFor(status), [...place, 51])) {
        expect(waysInto('jobs', plan)).toContain(index);
        expect(waysInto('jobs', plan)).not.toContain('all of jobs');
        expect(waysInto('activity', plan)).not.toContain('all of activity');
        expect(blocksOf(plan)).toBeLessThan(MOST_BLOCKS);
      }
  });

  it.each<JobStatus>(['queued', 'claimed', 'running', 'retry_wait'])(
    'a page of jobs in the status %s reads unfinished jobs only',
    async (status) => {
      for (const plan of await plansOf(open.database, statementFor(status), [null, null, 51])) {
        expect(waysInto('jobs', plan)).not.toContain('all of jobs');
        expect(waysInto('jobs', plan)).not.toContain('jobs_newest');
        expect(blocksOf(plan)).toBeLessThan(MOST_BLOCKS);
      }
    },
  );

  it('a page of one activity’s jobs is read by the index of its jobs', async () => {
    const { rows } = await open.database.query<{ id: string }>('select id from activity limit 1');
    for (const status of [undefined, 'succeeded'] as const) {
      const text = statementFor(status, { isOfActivity: true });
      for (const plan of await plansOf(open.database, text, [null, null, 51, rows[0]!.id])) {
        expect(waysInto('jobs', plan)).toEqual(['jobs_activity']);
        expect(blocksOf(plan)).toBeLessThan(100);
      }
    }
  });

  it('a page of an athlete’s jobs reads the jobs of the athlete’s activities only', async () => {
    const text = statementFor(undefined, { isOfAthlete: true });
    for (const plan of await plansOf(open.database, text, [null, null, 51, few])) {
      expect(waysInto('jobs', plan)).toEqual(['jobs_activity']);
      expect(blocksOf(plan)).toBeLessThan(2_000);
    }
    const jobs = new JobList(open.database);
    expect((await jobs.page({ athleteId: few, limit: 10 })).items).toHaveLength(3);
    const [{ activity_id: activityId } = { activity_id: '' }] = (
      await jobs.page({ limit: 1, athleteId: few })
    ).items;
    expect((await jobs.page({ activityId, athleteId: few, limit: 10 })).items).toHaveLength(1);
    expect((await jobs.page({ activityId, athleteId: randomUUID(), limit: 10 })).items).toEqual([]);
  });

  it('counting unfinished jobs reads fewer than ten blocks with 50,000 ended jobs', async () => {
    const { text } = loadSql(import.meta.url, './sql/count-unfinished.sql');
    for (const plan of await plansOf(open.database, text, [])) expect(blocksOf(plan)).toBeLessThan(10);
  });

  // Every worker runs these every few seconds.
  it.each<[string, readonly unknown[]]>([
    ['claim', ['me', 16, LEASE_MS, null]],
    ['claim-alone', ['me', LEASE_MS]],
    ['count-waiting', [200]],
    ['give-up-waiting', [500]],
    ['requeue-expired', [500, 3]],
  ])('%s.sql reads no ended job', async (statement, values) => {
    const { text } = loadSql(import.meta.url, `./sql/${statement}.sql`);
    for (const plan of await plansOf(open.database, text, values)) {
      expect(waysInto('jobs', plan)).not.toContain('all of jobs');
      expect(blocksOf(plan)).toBeLessThan(10);
    }
  });

  it('purge deletes exactly the jobs superseded more than 30 days ago, and reads no other jobs', async () => {
    const { text } = loadSql(import.meta.url, './sql/purge-superseded.sql');
    const keptMs = 30 * 86_400_000;
    for (const plan of await plansOf(open.database, text, [keptMs, 10]))
      expect(waysInto('jobs', plan)).toEqual(['jobs_pkey', 'jobs_superseded']);
    expect(await new Jobs(open.database).purge(keptMs)).toBe(50);
    expect(await new Jobs(open.database).purge(keptMs)).toBe(0);
  });

  it('countByStatus counts up to 1,000 ended jobs of a status exactly, and estimates a larger count', async () => {
    const counts = await new Jobs(open.database).countByStatus();
    const { rows } = await open.database.query<{ status: JobStatus; jobs: number }>(
      'select status, count(*)::int as jobs from jobs group by status',
    );
    const exact = new Map(rows.map(({ status, jobs }) => [status, jobs]));
    expect(counts.get('cancelled')).toBe(exact.get('cancelled'));
    expect(counts.get('failed_permanent')).toBe(exact.get('failed_permanent'));
    expect(counts.get('succeeded')! / exact.get('succeeded')!).toBeCloseTo(1, 1);
  });
});
