import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { type Database, NotFound } from '#platform';
import { newAthlete } from '../../../../test/harness/athletes.js';
import { openTestDatabase, type OpenDatabase } from '../../../../test/harness/test-database.js';
import {
  asker,
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
} from '../jobs.harness.js';
import { JobFinished } from './jobs.errors.js';
import { Jobs } from './jobs.js';
import { type Run } from './run.js';
import { Runs } from './runs.js';

const ME = 'me';

describe('jobs', () => {
  let open: OpenDatabase;
  let sql: Database;
  let jobs: Jobs;
  let runs: Runs;
  let ann: string;
  let activity: string;
  let { automatic, forced, ask } = asker(undefined as unknown as Jobs, '');
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
    ({ automatic, forced, ask } = asker(jobs, ann));
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

  it('remember when an activity was first and last seen', async () => {
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

  it('are one per activity while it has not ended', async () => {
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

  it('are one, however many ask at once', async () => {
    const all = await Promise.all(Array.from({ length: 12 }, () => automatic(activity)));
    expect(all.filter(({ kind }) => kind === 'queued')).toHaveLength(1);
    expect(await jobsOf(sql, activity)).toHaveLength(1);
  });

  it('pass what has been processed, unless forced', async () => {
    await processed();
    expect(await automatic(activity)).toEqual({ kind: 'already_processed', activityId: activity });
    expect(await forced(activity)).toMatchObject({ kind: 'queued', job: { force_update: true } });
  });

  it('become forced when somebody forces them, and do not wait for a retry then', async () => {
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

  it('are not made for what belongs to somebody else or does not exist', async () => {
    const ben = await newAthlete(sql);
    const request = { kind: 'manual_activity', requestedBy: 'test', force: true } as const;
    expect(await jobs.enqueue({ ...request, athleteId: ben, activityIds: [activity] })).toEqual([]);
    expect(await jobs.enqueue({ ...request, athleteId: ann, activityIds: [randomUUID()] })).toEqual([]);
  });

  it('are told of when the transaction commits, and not when it does not', async () => {
    const listener = new pg.Client({ connectionString: open.url });
    await listener.connect();
    let heard = 0;
    listener.on('notification', () => (heard += 1));
    await listener.query('listen runtime_jobs');
    const other = await newActivity(sql, ann);
    await sql
      .transaction(async (transaction) => {
        await automatic(activity, transaction);
        throw new Error('changed my mind');
      })
      .catch(() => undefined);
    await sql.transaction(async (transaction) => {
      await automatic(activity, transaction);
      await automatic(other, transaction);
    });
    // Answered after everything that was committed before.
    await listener.query('select 1');
    expect(heard).toBe(1);
    await listener.end();
  });

  describe('that are cancelled', () => {
    const cancel = async () => jobs.cancel(ann, (await jobOf(sql, activity)).job_id);

    it('end at once while they wait', async () => {
      await automatic(activity);
      expect(await cancel()).toMatchObject({ status: 'cancelled', runs: [] });
      expect(await runs.claim(ME, 1, LEASE_MS)).toEqual([]);
      await automatic(activity);
      await complete(runs, ME, await begin(), RETRY);
      expect(await cancel()).toMatchObject({ status: 'cancelled', runs: [{ status: 'retry_wait' }] });
    });

    it('end while they run: the lease is not renewed and the completion refused', async () => {
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

    it('are not there to be cancelled again, nor when they have finished', async () => {
      await processed();
      await expect(cancel()).rejects.toThrow(JobFinished);
      await forced(activity);
      await cancel();
      await expect(cancel()).rejects.toThrow(JobFinished);
    });

    it('belong to whoever cancels them', async () => {
      await automatic(activity);
      const { job_id } = await jobOf(sql, activity);
      const ben = await newAthlete(sql);
      await expect(jobs.cancel(ben, job_id)).rejects.toThrow(NotFound);
      await expect(jobs.find(ben, job_id)).rejects.toThrow(NotFound);
      expect(await jobOf(sql, activity)).toMatchObject({ status: 'queued' });
    });
  });

  it('show their runs, and what became of the activity', async () => {
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

  it('that fail later take nothing away from what was found before', async () => {
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

  it('go with their activity', async () => {
    await processed();
    await ask(activity, { kind: 'manual_latest', force: true });
    await sql.query('delete from athlete where id = $1', [ann]);
    for (const table of ['jobs', 'runs', 'activity_state', 'processed_activities'])
      expect({ table, count: (await sql.query(`select 1 from ${table}`)).count }).toEqual({
        table,
        count: 0,
      });
    expect(await runsOf(sql, activity)).toEqual([]);
  });

  it('are counted by status', async () => {
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
