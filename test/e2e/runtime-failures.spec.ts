import { randomUUID } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { eventually } from '../harness/eventually.js';
import { type JobBody, type StateBody, World } from '../harness/world.js';

const ACTIVITIES = 8;

// What a worker is to be stopped at, as a database may stop it: by a lock that another has.
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

describe('a run that does not go well', () => {
  let world: World;
  let other: pg.Client;
  const athlete = randomUUID();
  let vendorId: string;
  let ids: string[];

  beforeAll(async () => {
    world = await World.start();
    await world.rows(HALT);
    other = new pg.Client({ connectionString: world.env.DATABASE_URL });
    await other.connect();
    vendorId = await world.vendorAthlete(ACTIVITIES, { manual_share: 0 });
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
    await other.end();
    await world.stop();
  });

  const activity = (n: number) => ids[n] as string;
  const ask = async (id: string) =>
    (await world.call<JobBody>(athlete, 'POST', `/v1/activities/${id}/process`)).body;
  const jobUntil = (jobId: string, status: string, deadlineMs?: number) =>
    world.jobUntil(athlete, jobId, status, deadlineMs);
  const stateOf = async (id: string) =>
    (await world.call<StateBody>(athlete, 'GET', `/v1/activities/${id}/state`)).body;
  const processedBy = async (id: string) =>
    world.rows('select run_id from processed_activities where activity_id = $1', [id]);

  /** Whoever looks at a recording meanwhile waits. */
  async function whileRecordingsAreLocked(work: () => Promise<void>): Promise<void> {
    await other.query('begin');
    await other.query('lock table activity_stream in access exclusive mode');
    try {
      await work();
    } finally {
      await other.query('rollback');
    }
  }

  const broken = {
    'is no gzip': Buffer.from('not a recording'),
    'is no JSON': gzipSync('{"stream_data":'),
    'has no streams in it': gzipSync('{"point_count":3}'),
  };
  it.each(Object.entries(broken))(
    'because its recording %s is recorded, and hurts nobody else',
    async (_, body) => {
      const [bad, good] = [activity(0), activity(1)];
      const before = await stateOf(bad);
      const [{ body: kept } = { body: null }] = await world.rows<{ body: Buffer }>(
        'select body from activity_stream where activity_id = $1',
        [bad],
      );
      await world.rows('update activity_stream set body = $2 where activity_id = $1', [bad, body]);
      const asked = await ask(bad);
      const { job_id: fine } = await ask(good);
      await jobUntil(fine, 'succeeded', 20_000);
      const failed = await jobUntil(asked.job_id, 'failed_permanent', 40_000);
      expect(failed.runs.map(({ status }) => status)).toEqual([
        'retry_wait',
        'retry_wait',
        'failed_permanent',
      ]);
      expect(failed.last_error).toContain('The shape could not be made');
      // What was known stays.
      expect(await stateOf(bad)).toMatchObject({
        state: 'failed_permanent',
        last_error: failed.last_error,
        last_profile_id: before.last_profile_id,
        result: before.result,
      });
      await world.rows('update activity_stream set body = $2 where activity_id = $1', [bad, kept]);
      const again = await ask(bad);
      expect(again.job_id).not.toBe(asked.job_id);
      await jobUntil(again.job_id, 'succeeded');
      expect((await stateOf(bad)).result).toEqual(before.result);
    },
  );

  it('because it hangs is there for who asks again, and can be cancelled', async () => {
    const id = activity(2);
    const before = await stateOf(id);
    await whileRecordingsAreLocked(async () => {
      const { job_id } = await ask(id);
      await jobUntil(job_id, 'running');
      expect(await ask(id)).toMatchObject({ job_id, status: 'running' });
      const cancelled = await world.call<JobBody>(athlete, 'POST', `/v1/jobs/${job_id}/cancel`);
      expect(cancelled).toMatchObject({ status: 200, body: { job_id, status: 'cancelled' } });
      expect((await world.call(athlete, 'POST', `/v1/jobs/${job_id}/cancel`)).status).toBe(409);
    });
    // The run goes on for a moment, and what it finds is nobody's.
    const { job_id } = await ask(id);
    await jobUntil(job_id, 'succeeded');
    expect((await stateOf(id)).result).toEqual(before.result);
    const [, cancelled] = await world.rows<{ status: string; result_json: unknown }>(
      'select status, result_json from runs where activity_id = $1 order by started_at_utc',
      [id],
    );
    expect(cancelled).toEqual({ status: 'cancelled', result_json: null });
  });

  it('for want of streams is done by itself when they come', async () => {
    const { id: externalId } = await world.control<{ id: string }>('GET', `activities/${await newId()}`);
    const id = await eventually('it is listed and could not be fetched', async () => {
      const [row] = await world.rows<{ id: string }>(
        `select id from activity where external_activity_id = $1 and stream_fetch_status = 'failed'`,
        [externalId],
      );
      return row?.id;
    });
    const { job_id } = await ask(id);
    const failed = await jobUntil(job_id, 'failed_permanent', 20_000);
    expect(failed.last_error).toContain('streams are not here yet');
    expect(await processedBy(id)).toEqual([]);
    await world.control('DELETE', 'faults');
    await world.admin('POST', `activities/${id}/reset-stream-fetch`);
    await eventually('it is processed', async () => (await processedBy(id)).length === 1, 30_000);
    expect(await stateOf(id)).toMatchObject({ state: 'succeeded', last_profile_id: 'easy' });
  });

  async function newId(): Promise<string> {
    const fault = { vendor: 'strava', endpoint: 'streams', kind: 'http_500', count: 1_000 };
    await world.control('POST', 'faults', fault);
    const order = { athlete_id: vendorId, sport_type: 'Run', profile: 'easy' };
    return (await world.control<{ id: string }>('POST', 'activities', order)).id;
  }

  it('since its worker was killed in the middle is taken over after the lease', async () => {
    const id = activity(3);
    const before = await stateOf(id);
    const { job_id } = await killedDuring(async (kill) => {
      let job: JobBody | undefined;
      await whileRecordingsAreLocked(async () => {
        job = await ask(id);
        await jobUntil(job.job_id, 'running');
        await kill();
      });
      return job as JobBody;
    });
    await expectTakenOver(job_id, id, before);
  });

  it('since its worker was killed before its commit is taken over, and written once', async () => {
    const id = activity(4);
    const before = await stateOf(id);
    await world.rows('insert into halted values ($1)', [id]);
    await other.query('select pg_advisory_lock(1)');
    const { job_id } = await killedDuring(async (kill) => {
      const job = await ask(id);
      await eventually('it stands before its commit', async () => {
        const waiting = `
          select 1 from pg_stat_activity
          where wait_event = 'advisory' and application_name = 'pacekeeper-worker' and datname = current_database()`;
        return (await world.rows(waiting)).length === 1;
      });
      await kill();
      return job;
    });
    await world.rows('delete from halted');
    await other.query('select pg_advisory_unlock(1)');
    await expectTakenOver(job_id, id, before);
  });

  /** The server notices that they are gone, as it does when their machine's connections end. */
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

  it('or was never asked for, since its database is from before the runtime, is made up for', async () => {
    const id = activity(5);
    await world.rows('delete from jobs where activity_id = $1', [id]);
    await world.rows('delete from activity_state where activity_id = $1', [id]);
    await world.rows('update activity set first_seen_at = null, last_seen_at = null where id = $1', [id]);
    await eventually('it is processed', async () => (await processedBy(id)).length === 1);
  });
});
