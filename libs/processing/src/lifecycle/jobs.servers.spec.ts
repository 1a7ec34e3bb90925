import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { type Database, NotFound } from '#platform';
import { newAthlete } from '../../../../test/harness/athletes.js';
import { openTestDatabase, type OpenDatabase } from '../../../../test/harness/test-database.js';
import {
  requestsOf,
  complete,
  FAILED,
  isProcessed,
  jobOf,
  jobsOf,
  LEASE_MS,
  newActivity,
  passTime,
  rejectedWrites,
  RETRY,
  runsOf,
} from '../processing.harness.js';
import { JobFinished, Jobs } from './jobs.js';
import { type Run } from './run.js';
import { Runs } from './runs.js';

const ME = 'me';

describe('Jobs', () => {
  let open: OpenDatabase;
  let sql: Database;
  let jobs: Jobs;
  let runs: Runs;
  let ann: string;
  let activity: string;
  let { automatic, forced, request } = requestsOf(undefined as unknown as Jobs, '');
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
    activity = await newActivity(sql, ann);
    ({ automatic, forced, request } = requestsOf(jobs, ann));
  });

  const begin = async (): Promise<Run> => {
    const [run] = await runs.start(ME, await runs.claim(ME, 1, LEASE_MS));
    if (!run) throw new Error('nothing to claim');
    return run;
  };
  const processed = async () => {
    await automatic(activity);
    await complete(runs, ME, await begin());
  };

  it('recordDiscovered keeps first_seen_at of an activity, and updates last_seen_at', async () => {
    const seen = async () => {
      const statement = 'select first_seen_at as first, last_seen_at as last from activity where id = $1';
      return (await sql.query<{ first: Date; last: Date }>(statement, [activity])).rows[0]!;
    };
    expect(await jobs.recordDiscovered([activity, randomUUID()])).toEqual([activity]);
    const before = await seen();
    expect(before.first).toEqual(before.last);
    await jobs.recordDiscovered([activity]);
    const after = await seen();
    expect(after.first).toEqual(before.first);
    expect(after.last.getTime()).toBeGreaterThanOrEqual(before.last.getTime());
  });

  it('a second request joins an activity’s unfinished job; a request after the job’s end creates a new job', async () => {
    const first = await automatic(activity);
    expect(first).toMatchObject({
      kind: 'queued',
      job: { status: 'queued', request_kind: 'auto_poll', max_attempts: 3 },
    });
    expect(await automatic(activity)).toEqual({ ...first, kind: 'joined' });
    const run = await begin();
    expect(await automatic(activity)).toMatchObject({
      kind: 'joined',
      job: { job_id: run.job_id, status: 'running' },
    });
    await complete(runs, ME, run, FAILED);
    expect(await automatic(activity)).toMatchObject({ kind: 'queued' });
  });

  it('twelve requests for an activity at once create one job', async () => {
    const all = await Promise.all(Array.from({ length: 12 }, () => automatic(activity)));
    expect(all.filter(({ kind }) => kind === 'queued')).toHaveLength(1);
    expect(await jobsOf(sql, activity)).toHaveLength(1);
  });

  it('a request for a processed activity creates a job only if it is forced', async () => {
    await processed();
    expect(await automatic(activity)).toEqual({ kind: 'already_processed', activityId: activity });
    expect(await forced(activity)).toMatchObject({ kind: 'queued', job: { force_update: true } });
  });

  it('a forced request makes a job in retry_wait forced and due at once', async () => {
    const [first] = [await automatic(activity)];
    await complete(runs, ME, await begin(), RETRY);
    expect(await runs.claim(ME, 1, LEASE_MS)).toEqual([]);
    const joined = await forced(activity);
    expect(joined).toMatchObject({ kind: 'joined', job: { force_update: true, status: 'retry_wait' } });
    expect(
      joined.kind === 'joined' && first.kind === 'queued' && joined.job.job_id === first.job.job_id,
    ).toBe(true);
    expect(await runs.claim(ME, 1, LEASE_MS)).toHaveLength(1);
  });

  it('no job is created for an unknown activity or for another athlete’s activity', async () => {
    const ben = await newAthlete(sql);
    const request = { kind: 'manual_activity', requestedBy: 'test', force: true } as const;
    expect(await jobs.enqueue({ ...request, athleteId: ben, activityIds: [activity] })).toEqual([]);
    expect(await jobs.enqueue({ ...request, athleteId: ann, activityIds: [randomUUID()] })).toEqual([]);
  });

  it('workers are notified of jobs once when the transaction commits, and not when it rolls back', async () => {
    const listener = new pg.Client({ connectionString: open.url });
    await listener.connect();
    let notifications = 0;
    listener.on('notification', () => (notifications += 1));
    await listener.query('listen runtime_jobs');
    const other = await newActivity(sql, ann);
    await sql
      .transaction(async (transaction) => {
        await automatic(activity, transaction);
        throw new Error('rolled back');
      })
      .catch(() => undefined);
    await sql.transaction(async (transaction) => {
      await automatic(activity, transaction);
      await automatic(other, transaction);
    });
    // The answer comes after the notifications of all earlier commits.
    await listener.query('select 1');
    expect(notifications).toBe(1);
    await listener.end();
  });

  describe('cancel', () => {
    const cancel = async () => jobs.cancel(ann, (await jobOf(sql, activity)).job_id);

    it('cancel ends a queued job or a job in retry_wait at once', async () => {
      await automatic(activity);
      expect(await cancel()).toMatchObject({ status: 'cancelled', runs: [] });
      expect(await runs.claim(ME, 1, LEASE_MS)).toEqual([]);
      await automatic(activity);
      await complete(runs, ME, await begin(), RETRY);
      expect(await cancel()).toMatchObject({ status: 'cancelled', runs: [{ status: 'retry_wait' }] });
    });

    it('cancel ends a running job: its lease is not renewed and its completion is rejected', async () => {
      await automatic(activity);
      const run = await begin();
      expect(await cancel()).toMatchObject({ status: 'cancelled', runs: [{ status: 'cancelled' }] });
      const before = await rejectedWrites();
      expect(await runs.renew(ME, [run], LEASE_MS)).toEqual(new Set());
      expect(await complete(runs, ME, run)).toBe(false);
      expect(await rejectedWrites()).toBe(before + 1);
      expect(await isProcessed(sql, activity)).toBe(false);
      expect(await jobOf(sql, activity)).toMatchObject({ status: 'cancelled', last_result_json: null });
    });

    it('cancel rejects with JobFinished for a cancelled or finished job', async () => {
      await processed();
      await expect(cancel()).rejects.toThrow(JobFinished);
      await forced(activity);
      await cancel();
      await expect(cancel()).rejects.toThrow(JobFinished);
    });

    it('cancel and find reject with NotFound for another athlete’s job', async () => {
      await automatic(activity);
      const { job_id } = await jobOf(sql, activity);
      const ben = await newAthlete(sql);
      await expect(jobs.cancel(ben, job_id)).rejects.toThrow(NotFound);
      await expect(jobs.find(ben, job_id)).rejects.toThrow(NotFound);
      expect(await jobOf(sql, activity)).toMatchObject({ status: 'queued' });
    });
  });

  it('find returns a job with its runs, and stateOf returns the activity’s state only to the activity’s athlete', async () => {
    await automatic(activity);
    await complete(runs, ME, await begin(), RETRY);
    await passTime(sql, '1 minute');
    await complete(runs, ME, await begin());
    const { job_id } = await jobOf(sql, activity);
    const job = await jobs.find(ann, job_id);
    expect(job).toMatchObject({ status: 'succeeded', attempt_count: 2, last_error: null });
    expect(job.runs).toMatchObject([
      { attempt_number: 1, status: 'retry_wait', error: 'not now' },
      { attempt_number: 2, status: 'succeeded', error: null },
    ]);
    const state = {
      state: 'succeeded',
      last_profile_id: 'easy',
      last_title: 'An easy hour',
      last_job_id: job_id,
    };
    expect(await jobs.stateOf(ann, activity)).toMatchObject({ ...state, result: { segments: [] } });
    await expect(jobs.stateOf(await newAthlete(sql), activity)).rejects.toThrow(NotFound);
  });

  it('a later failed job keeps the earlier result in the activity’s state', async () => {
    await processed();
    await forced(activity);
    await complete(runs, ME, await begin(), FAILED);
    expect(await jobs.stateOf(ann, activity)).toMatchObject({
      state: 'failed_permanent',
      last_error: 'hopeless',
      last_title: 'An easy hour',
      last_description_hash: 'abc',
      result: { segments: [] },
    });
  });

  it('jobs, runs and states are deleted with their activity', async () => {
    await processed();
    await request(activity, { kind: 'manual_latest', force: true });
    await sql.query('delete from athlete where id = $1', [ann]);
    for (const table of ['jobs', 'runs', 'activity_state', 'processed_activities'])
      expect({ table, count: (await sql.query(`select 1 from ${table}`)).count }).toEqual({
        table,
        count: 0,
      });
    expect(await runsOf(sql, activity)).toEqual([]);
  });

  it('countByStatus counts unfinished jobs by status', async () => {
    await automatic(activity);
    await automatic(await newActivity(sql, ann));
    await begin();
    expect(await jobs.countByStatus()).toEqual(
      new Map([
        ['queued', 1],
        ['running', 1],
      ]),
    );
  });
});
