import { randomUUID } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { eventually } from '../harness/eventually.js';
import { type JobBody, type StateBody, World } from '../harness/world.js';

const ACTIVITIES = 8;
// One test expects a profile of the classifier, which depends on the days of the history.
const HISTORY_UNTIL = '2026-11-19T00:00:00Z';
const UPLOADED_AT = '2026-11-19T08:00:00Z';

// Halts a worker before its commit: a trigger waits for an advisory lock that the test holds.
const HALT = `
  create function halt() returns trigger language plpgsql as $$
  begin
    perform pg_advisory_xact_lock(1);
    return new;
  end $$;
  create table halted (id uuid);
  create function is_halted(activity uuid) returns boolean language sql stable
    as 'select exists (select 1 from halted where halted.id = $1)';
  create constraint trigger halt_before_commit after insert or update on processed_activities deferrable initially deferred
    for each row when (is_halted(new.activity_id)) execute function halt();`;

describe('jobs that fail, hang or lose their worker', () => {
  let world: World;
  let locker: pg.Client;
  const athlete = randomUUID();
  let vendorId: string;
  let ids: string[];

  beforeAll(async () => {
    world = await World.start();
    await world.rows(HALT);
    locker = new pg.Client({ connectionString: world.env.DATABASE_URL });
    await locker.connect();
    vendorId = await world.vendorAthlete(ACTIVITIES, { manual_share: 0, history_until: HISTORY_UNTIL });
    await world.connect(athlete, vendorId);
    const processed = 'select activity_id as id from processed_activities';
    ids = await eventually(
      'all are processed',
      async () => {
        const rows = await world.rows<{ id: string }>(processed);
        return rows.length === ACTIVITIES ? rows.map(({ id }) => id) : undefined;
      },
      60_000,
    );
  }, 120_000);
  afterAll(async () => {
    await locker?.end();
    await world?.stop();
  });

  const activity = (n: number) => ids[n] as string;
  const requestJob = async (id: string) =>
    (await world.call<JobBody>(athlete, 'POST', `/v1/activities/${id}/process`)).body;
  const jobUntil = (jobId: string, status: string, deadlineMs?: number) =>
    world.jobUntil(athlete, jobId, status, deadlineMs);
  const stateOf = async (id: string) =>
    (await world.call<StateBody>(athlete, 'GET', `/v1/activities/${id}/state`)).body;
  const processedBy = async (id: string) =>
    world.rows('select run_id from processed_activities where activity_id = $1', [id]);

  /** Locks all recordings during `work`. A run that reads a recording waits meanwhile. */
  async function whileRecordingsAreLocked(work: () => Promise<void>): Promise<void> {
    await locker.query('begin');
    await locker.query('lock table activity_stream in access exclusive mode');
    try {
      await work();
    } finally {
      await locker.query('rollback');
    }
  }

  const broken = {
    'is no gzip': Buffer.from('not a recording'),
    'is no JSON': gzipSync('{"stream_data":'),
    'has no streams in it': gzipSync('{"point_count":3}'),
  };
  it.each(Object.entries(broken))(
    'a job whose recording %s fails after three attempts, leaves the activity’s earlier result, and delays no other job',
    async (_, body) => {
      const [bad, good] = [activity(0), activity(1)];
      const before = await stateOf(bad);
      const [{ body: original } = { body: null }] = await world.rows<{ body: Buffer }>(
        'select body from activity_stream where activity_id = $1',
        [bad],
      );
      await world.rows('update activity_stream set body = $2 where activity_id = $1', [bad, body]);
      const requested = await requestJob(bad);
      const { job_id: fine } = await requestJob(good);
      await jobUntil(fine, 'succeeded', 20_000);
      const failed = await jobUntil(requested.job_id, 'failed_permanent', 40_000);
      expect(failed.runs.map(({ status }) => status)).toEqual([
        'retry_wait',
        'retry_wait',
        'failed_permanent',
      ]);
      expect(failed.last_error).toContain('The shape could not be made');
      // The earlier result stays.
      expect(await stateOf(bad)).toMatchObject({
        state: 'failed_permanent',
        last_error: failed.last_error,
        last_profile_id: before.last_profile_id,
        result: before.result,
      });
      await world.rows('update activity_stream set body = $2 where activity_id = $1', [bad, original]);
      const again = await requestJob(bad);
      expect(again.job_id).not.toBe(requested.job_id);
      await jobUntil(again.job_id, 'succeeded');
      expect((await stateOf(bad)).result).toEqual(before.result);
    },
  );

  it('a second request returns the job that hangs, and a cancel request cancels this job', async () => {
    const id = activity(2);
    const before = await stateOf(id);
    await whileRecordingsAreLocked(async () => {
      const { job_id } = await requestJob(id);
      await jobUntil(job_id, 'running');
      expect(await requestJob(id)).toMatchObject({ job_id, status: 'running' });
      const cancelled = await world.call<JobBody>(athlete, 'POST', `/v1/jobs/${job_id}/cancel`);
      expect(cancelled).toMatchObject({ status: 200, body: { job_id, status: 'cancelled' } });
      expect((await world.call(athlete, 'POST', `/v1/jobs/${job_id}/cancel`)).status).toBe(409);
    });
    // The cancelled run goes on for a moment. The database refuses its result.
    const { job_id } = await requestJob(id);
    await jobUntil(job_id, 'succeeded');
    expect((await stateOf(id)).result).toEqual(before.result);
    const [, cancelled] = await world.rows<{ status: string; result_json: unknown }>(
      'select status, result_json from runs where activity_id = $1 order by started_at_utc',
      [id],
    );
    expect(cancelled).toEqual({ status: 'cancelled', result_json: null });
  });

  const listedAs = (externalId: string, status: string) =>
    eventually(`the activity is listed and its streams are ${status}`, async () => {
      const [row] = await world.rows<{ id: string }>(
        'select id from activity where external_activity_id = $1 and stream_fetch_status = $2',
        [externalId, status],
      );
      return row?.id;
    });

  it('a job waits for streams that are not fetched yet, names them in waits_for, and uses no attempt', async () => {
    const [{ id } = { id: '' }] = await world.rows<{ id: string }>(
      `update activity
       set stream_fetch_status = 'pending', stream_fetch_fence = stream_fetch_fence + 1
       where id = $1
       returning id`,
      [activity(6)],
    );
    await world.admin('POST', 'backfills/pause');
    await world.rows('delete from activity_stream where activity_id = $1', [id]);
    const { job_id } = await requestJob(id);
    expect(await jobUntil(job_id, 'retry_wait')).toMatchObject({ waits_for: 'streams', attempt_count: 0 });
    expect(await stateOf(id)).toMatchObject({ state: 'retry_wait', waits_for: 'streams' });
    await world.admin('POST', 'backfills/resume');
    await world.admin('POST', `athletes/${athlete}/backfill`);
    expect(await jobUntil(job_id, 'succeeded', 30_000)).toMatchObject({ waits_for: null, attempt_count: 1 });
  });

  it('a job fails if the fetch of its streams has failed, and the activity is processed once a reset brings the streams', async () => {
    const { id: externalId } = await world.control<{ id: string }>(
      'GET',
      `activities/${await uploadWithFailingStreams()}`,
    );
    const id = await listedAs(externalId, 'failed');
    const { job_id } = await requestJob(id);
    const failed = await jobUntil(job_id, 'failed_permanent', 30_000);
    expect(failed.last_error).toContain('streams could not be fetched');
    expect(await processedBy(id)).toEqual([]);
    await world.control('DELETE', 'faults');
    await world.admin('POST', `activities/${id}/reset-stream-fetch`);
    await eventually('the activity is processed', async () => (await processedBy(id)).length === 1, 30_000);
    expect(await stateOf(id)).toMatchObject({ state: 'succeeded', last_profile_id: 'easy' });
  });

  it('an activity without a recording is processed again automatically once a reset brings a recording', async () => {
    const id = activity(7);
    const before = await stateOf(id);
    // These statements make the state of an activity whose watch uploads the recording days later.
    await world.rows('delete from activity_stream where activity_id = $1', [id]);
    await world.rows('alter table activity disable trigger activity_stream_fetch_moves');
    await world.rows(
      `update activity
       set stream_fetch_status = 'unavailable', input_revision = input_revision + 1
       where id = $1`,
      [id],
    );
    await world.rows('alter table activity enable trigger activity_stream_fetch_moves');
    await eventually(
      'the activity has no shape',
      async () => (await stateOf(id)).last_title !== before.last_title,
    );
    await world.admin('POST', `activities/${id}/reset-stream-fetch`);
    await eventually(
      'the shape is as before',
      async () => (await stateOf(id)).last_title === before.last_title,
      30_000,
    );
  });

  async function uploadWithFailingStreams(): Promise<string> {
    const fault = { vendor: 'strava', endpoint: 'streams', kind: 'http_500', count: 1_000 };
    await world.control('POST', 'faults', fault);
    const order = { athlete_id: vendorId, sport_type: 'Run', profile: 'easy', start_date: UPLOADED_AT };
    return (await world.control<{ id: string }>('POST', 'activities', order)).id;
  }

  it('a job whose worker is killed during its run is taken over after the lease', async () => {
    const id = activity(3);
    const before = await stateOf(id);
    const { job_id } = await killedDuring(async (kill) => {
      let job: JobBody | undefined;
      await whileRecordingsAreLocked(async () => {
        job = await requestJob(id);
        await jobUntil(job.job_id, 'running');
        await kill();
      });
      return job as JobBody;
    });
    await expectTakenOver(job_id, id, before);
  });

  it('a job whose worker is killed before its commit is taken over, and the result is written once', async () => {
    const id = activity(4);
    const before = await stateOf(id);
    await world.rows('insert into halted values ($1)', [id]);
    await locker.query('select pg_advisory_lock(1)');
    const { job_id } = await killedDuring(async (kill) => {
      const job = await requestJob(id);
      await eventually('the worker waits before its commit', async () => {
        const waiting = `
          select 1 from pg_stat_activity
          where wait_event = 'advisory' and application_name = 'pacekeeper-worker' and datname = current_database()`;
        return (await world.rows(waiting)).length === 1;
      });
      await kill();
      return job;
    });
    await world.rows('delete from halted');
    await locker.query('select pg_advisory_unlock(1)');
    await expectTakenOver(job_id, id, before);
  });

  /** Kills all workers and ends their sessions, as Postgres does once it notices that a machine is gone. */
  async function killedDuring(work: (kill: () => Promise<void>) => Promise<JobBody>): Promise<JobBody> {
    const job = await work(async () => {
      await Promise.all([...world.workers].map((worker) => world.kill(worker)));
      await world.rows(
        `select pg_terminate_backend(pid)
         from pg_stat_activity
         where application_name = 'pacekeeper-worker' and datname = current_database()`,
      );
    });
    await world.startWorker();
    return job;
  }

  async function expectTakenOver(jobId: string, id: string, before: StateBody): Promise<void> {
    const done = await jobUntil(jobId, 'succeeded', 30_000);
    expect(done.attempt_count).toBe(2);
    expect(done.runs).toMatchObject([
      { status: 'failed_permanent', error: 'lease_expired' },
      { status: 'succeeded', error: null },
    ]);
    expect(await processedBy(id)).toEqual([{ run_id: done.runs[1]?.run_id }]);
    expect((await stateOf(id)).result).toEqual(before.result);
  }

  it('an activity that was stored without a job gets a job automatically', async () => {
    const id = activity(5);
    await world.rows('delete from jobs where activity_id = $1', [id]);
    await world.rows('delete from activity_state where activity_id = $1', [id]);
    await world.rows('update activity set first_seen_at = null, last_seen_at = null where id = $1', [id]);
    await eventually('the activity is processed', async () => (await processedBy(id)).length === 1);
  });
});
