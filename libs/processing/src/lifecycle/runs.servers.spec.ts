import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type Database } from '#platform';
import { announced } from '../../../../test/harness/announced.js';
import { eventually } from '../../../../test/harness/eventually.js';
import { newAthlete } from '../../../../test/harness/athletes.js';
import { openPool, openTestDatabase, type OpenDatabase } from '../../../../test/harness/test-database.js';
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
  stateOf,
  SUCCEEDED,
} from '../processing.harness.js';
import { Jobs } from './jobs.js';
import { type RunClaim } from './run.js';
import { Runs } from './runs.js';

const ME = 'me';

describe('Runs', () => {
  let open: OpenDatabase;
  let sql: Database;
  let jobs: Jobs;
  let runs: Runs;
  let ann: string;
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
    ({ automatic, forced, request } = requestsOf(jobs, ann));
  });

  const activities = (count: number) =>
    Promise.all(Array.from({ length: count }, () => newActivity(sql, ann)));
  const claim = async (owner = ME): Promise<RunClaim> => {
    const [first] = await runs.claim(owner, 1, LEASE_MS);
    if (!first) throw new Error('nothing to claim');
    return first;
  };
  const claimAlone = async (owner = ME): Promise<RunClaim> => {
    const first = await runs.claimAlone(owner, LEASE_MS);
    if (!first) throw new Error('nothing to claim');
    return first;
  };
  const begun = async (claimed: RunClaim, owner = ME) => {
    await runs.start(owner, [claimed]);
    return claimed;
  };
  const begin = async (owner = ME) => begun(await claim(owner), owner);
  const beginAlone = async (owner = ME) => begun(await claimAlone(owner), owner);
  const loseWorker = async () => {
    await passTime(sql, '1 minute');
    await runs.requeueExpired();
  };

  it('an activity is announced as processed once its run succeeds under its claim, and after no other outcome', async () => {
    const [activity = ''] = await activities(1);
    const told = async () => (await announced(sql, ann)).map(({ type }) => type);
    await told();
    await forced(activity);
    const lost = await begin();
    await loseWorker();
    expect(await complete(runs, ME, lost)).toBe(false);
    expect(await told()).toEqual([]);
    await passTime(sql, '1 hour');
    await complete(runs, ME, await beginAlone(), RETRY);
    expect(await told()).toEqual([]);
    await passTime(sql, '1 hour');
    await complete(runs, ME, await beginAlone());
    expect(await told()).toEqual(['activity.processed']);
  });

  it('a run that succeeds while its activity is being changed is announced after that change', async () => {
    const [activity = ''] = await activities(1);
    await announced(sql, ann);
    await forced(activity);
    const claimed = await begin();
    const other = await openPool(open.url);
    let ended: Promise<boolean> | undefined;
    await other.database.transaction(async (transaction) => {
      await transaction.query("update activity set name = 'edited' where id = $1", [activity]);
      ended = complete(runs, ME, claimed);
      await eventually('the end of the run waits', async () => {
        const waiting = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
        const { count } = await transaction.query(waiting);
        return count > 0;
      });
    });
    expect(await ended).toBe(true);
    await other.close();
    expect((await announced(sql, ann)).map(({ type }) => type)).toEqual([
      'activity.updated',
      'activity.processed',
    ]);
  });

  it('jobs are claimed by priority, then by age, and no more than requested', async () => {
    const [old = '', young = '', urgent = ''] = await activities(3);
    await automatic(old);
    await automatic(young);
    await forced(urgent);
    const one = async () => (await claim()).activity_id;
    expect([await one(), await one(), await one()]).toEqual([urgent, old, young]);
    for (const activity of await activities(5)) await automatic(activity);
    expect(await runs.claim(ME, 3, LEASE_MS)).toHaveLength(3);
  });

  it('each job is claimed by one of four workers that claim at once', async () => {
    const all = await activities(60);
    await jobs.enqueue({ athleteId: ann, activityIds: all, kind: 'auto_poll', requestedBy: 'test' });
    const pools = await Promise.all(Array.from({ length: 4 }, () => openPool(open.url)));
    const takeAll = async (mine: Runs, owner: string): Promise<string[]> => {
      const taken = await mine.claim(owner, 7, LEASE_MS);
      return taken.length === 0
        ? []
        : [...taken.map((one) => one.activity_id), ...(await takeAll(mine, owner))];
    };
    const taken = await Promise.all(
      pools.map(({ database }, n) => takeAll(new Runs(database), `worker ${n}`)),
    );
    expect(taken.flat().sort()).toEqual([...all].sort());
    await Promise.all(pools.map((pool) => pool.close()));
  });

  it('a claim counts as an attempt', async () => {
    const [activity = ''] = await activities(1);
    await automatic(activity);
    await claim();
    expect(await jobOf(sql, activity)).toMatchObject({
      status: 'claimed',
      attempt_count: 1,
      lease_owner: ME,
    });
  });

  it('a run that waits for an input several times uses no attempt, keeps one row and names the input', async () => {
    const [activity = ''] = await activities(1);
    await forced(activity);
    for (let n = 0; n < 5; n += 1) {
      const begun = await begin();
      await complete(runs, ME, begun, { kind: 'waiting', waitsFor: 'streams', afterMs: 60_000 });
      expect(await jobOf(sql, activity)).toMatchObject({
        status: 'retry_wait',
        attempt_count: 0,
        finished_at_utc: null,
      });
      expect(await jobs.stateOf(ann, activity)).toMatchObject({ state: 'retry_wait', waits_for: 'streams' });
      await passTime(sql, '1 minute');
    }
    expect(await runsOf(sql, activity)).toMatchObject([
      { status: 'retry_wait', attempt_number: 1, error: 'Waits for streams' },
    ]);
    const begun = await begin();
    expect(await jobs.stateOf(ann, activity)).toMatchObject({
      state: 'running',
      waits_for: null,
      next_attempt_at: null,
    });
    await complete(runs, ME, begun);
    expect(await jobs.stateOf(ann, activity)).toMatchObject({
      state: 'succeeded',
      waits_for: null,
      last_error: null,
    });
    expect(await runsOf(sql, activity)).toMatchObject([
      { status: 'succeeded', attempt_number: 1, error: null },
    ]);
  });

  it('a run that waits for an input can be cancelled, and is tried at once after another request', async () => {
    const [cancelled = '', repeated = ''] = await activities(2);
    for (const activity of [cancelled, repeated]) {
      await forced(activity);
      await complete(runs, ME, await begin(), { kind: 'waiting', waitsFor: 'streams', afterMs: 60_000 });
    }
    await jobs.cancel(ann, (await jobOf(sql, cancelled)).job_id);
    expect(await jobs.stateOf(ann, cancelled)).toMatchObject({ state: 'cancelled', waits_for: null });
    expect(await forced(repeated)).toMatchObject({ kind: 'joined' });
    expect((await claim()).activity_id).toBe(repeated);
  });

  it('a newer job supersedes the ended jobs of its activity, except the job whose result is shown', async () => {
    const [activity = ''] = await activities(1);
    const superseded = async () =>
      (await jobsOf(sql, activity)).map(
        (job) => (job as unknown as { superseded_at_utc: Date | null }).superseded_at_utc !== null,
      );
    for (const ending of [SUCCEEDED, FAILED, FAILED]) {
      await forced(activity);
      await complete(runs, ME, await begin(), ending);
    }
    expect(await superseded()).toEqual([false, true, false]);
    await forced(activity);
    await complete(runs, ME, await begin(), SUCCEEDED);
    expect(await superseded()).toEqual([false, true, true, false]);
    await forced(activity);
    expect(await superseded()).toEqual([true, true, true, false, false]);
    expect(await jobs.purge(0)).toBe(3);
    expect(await jobs.stateOf(ann, activity)).toMatchObject({
      last_title: 'An easy hour',
      result: { segments: [] },
    });
  });

  it('a claimed job that is released before it began uses no attempt and can be claimed again', async () => {
    const [activity = ''] = await activities(1);
    await automatic(activity);
    const claimed = await claim();
    await runs.release(ME, [claimed]);
    expect(await jobOf(sql, activity)).toMatchObject({
      status: 'queued',
      attempt_count: 0,
      lease_owner: null,
    });
    expect(await runs.start(ME, [claimed])).toEqual([]);
    expect(await claim('another')).toMatchObject({ activity_id: activity });
  });

  it('complete ends several runs with different outcomes together', async () => {
    const all = await activities(3);
    for (const activity of all) await automatic(activity);
    const claims = await runs.claim(ME, 3, LEASE_MS);
    await runs.start(ME, claims);
    const of = (activity: string) => claims.find((one) => one.activity_id === activity)!;
    const [well = '', later = '', never = ''] = all;
    await runs.complete(ME, [
      { claim: of(well), outcome: SUCCEEDED },
      { claim: of(later), outcome: RETRY },
      { claim: of(never), outcome: { kind: 'failed', error: 'hopeless' } },
    ]);
    expect(await jobOf(sql, well)).toMatchObject({ status: 'succeeded', last_result_json: { segments: [] } });
    expect(await jobOf(sql, later)).toMatchObject({ status: 'retry_wait', last_error: 'not now' });
    expect(await jobOf(sql, never)).toMatchObject({ status: 'failed_permanent', last_error: 'hopeless' });
    expect(await Promise.all(all.map((activity) => isProcessed(sql, activity)))).toEqual([
      true,
      false,
      false,
    ]);
    expect(await Promise.all(all.map((activity) => stateOf(sql, activity)))).toEqual([
      'succeeded',
      'retry_wait',
      'failed_permanent',
    ]);
    expect(await runsOf(sql, later)).toMatchObject([
      { status: 'retry_wait', error: 'not now', attempt_number: 1 },
    ]);
  });

  it('a run that fails is retried when due, and its job fails for good when no attempt is left', async () => {
    const [activity = ''] = await activities(1);
    await automatic(activity);
    for (const attempt of [1, 2]) {
      await complete(runs, ME, await begin(), RETRY);
      expect(await jobOf(sql, activity)).toMatchObject({ status: 'retry_wait', attempt_count: attempt });
      expect(await runs.claim(ME, 1, LEASE_MS)).toEqual([]);
      await passTime(sql, '1 minute');
    }
    await complete(runs, ME, await begin(), RETRY);
    expect(await jobOf(sql, activity)).toMatchObject({ status: 'failed_permanent', last_error: 'not now' });
    expect(await runsOf(sql, activity)).toMatchObject([
      { status: 'retry_wait' },
      { status: 'retry_wait' },
      { status: 'failed_permanent' },
    ]);
  });

  it('a waiting job fails for good once its max_attempts was lowered', async () => {
    const [activity = ''] = await activities(1);
    await automatic(activity);
    await complete(runs, ME, await begin(), RETRY);
    await sql.query('update jobs set max_attempts = 1');
    await passTime(sql, '1 minute');
    expect(await runs.claim(ME, 1, LEASE_MS)).toEqual([]);
    await runs.requeueExpired();
    expect(await jobOf(sql, activity)).toMatchObject({ status: 'failed_permanent', last_error: 'not now' });
    expect(await stateOf(sql, activity)).toBe('failed_permanent');
  });

  describe('with an expired lease', () => {
    it('a job with an expired lease is queued again, and its run records lease_expired', async () => {
      const [activity = ''] = await activities(1);
      await automatic(activity);
      await begin();
      await passTime(sql, '29 seconds');
      expect(await runs.requeueExpired()).toEqual([]);
      await passTime(sql, '1 second');
      expect(await runs.requeueExpired()).toMatchObject([{ activity_id: activity, status: 'queued' }]);
      expect(await jobOf(sql, activity)).toMatchObject({
        status: 'queued',
        attempt_count: 1,
        last_error: 'lease_expired',
      });
      expect(await runsOf(sql, activity)).toMatchObject([
        { status: 'failed_permanent', error: 'lease_expired' },
      ]);
    });

    it('a job whose lease was renewed is not taken back', async () => {
      const [activity = ''] = await activities(1);
      await automatic(activity);
      const run = await begin();
      await passTime(sql, '29 seconds');
      expect(await runs.renew(ME, [run], LEASE_MS)).toEqual(new Set([run.run_id]));
      await passTime(sql, '29 seconds');
      expect(await runs.requeueExpired()).toEqual([]);
    });

    it('a job uses no attempt if its worker dies before the job begins, also several times', async () => {
      const [activity = ''] = await activities(1);
      await automatic(activity);
      for (let lost = 0; lost < 5; lost += 1) {
        await claim();
        await loseWorker();
      }
      expect(await jobOf(sql, activity)).toMatchObject({
        status: 'queued',
        attempt_count: 0,
        lost_workers: 0,
        last_error: null,
      });
      expect(await runsOf(sql, activity)).toEqual([]);
    });

    it('a job that has lost a worker is claimed by claimAlone only', async () => {
      const [lost = '', other = ''] = await activities(2);
      await automatic(lost);
      await begin();
      await loseWorker();
      await automatic(other);
      expect(await runs.claim(ME, 5, LEASE_MS)).toMatchObject([{ activity_id: other }]);
      expect(await runs.claimAlone(ME, LEASE_MS)).toMatchObject({ activity_id: lost });
      expect(await runs.claimAlone(ME, LEASE_MS)).toBeUndefined();
    });

    it.each([
      { before: 0, attempts: 3 },
      { before: 1, attempts: 4 },
      { before: 2, attempts: 5 },
    ])(
      'a job fails permanently once it has lost one worker beside other jobs and two alone, after $before other failures',
      async ({ before, attempts }) => {
        const [activity = ''] = await activities(1);
        await automatic(activity);
        for (let failed = 0; failed < before; failed += 1) {
          await complete(runs, ME, await begin(), RETRY);
          await passTime(sql, '2 minutes');
        }
        for (const attempt of [begin, beginAlone]) {
          await attempt();
          await loseWorker();
          expect(await jobOf(sql, activity)).toMatchObject({ status: 'queued' });
        }
        await beginAlone();
        await loseWorker();
        expect(await jobOf(sql, activity)).toMatchObject({
          status: 'failed_permanent',
          last_error: 'lease_expired',
          attempt_count: attempts,
          lost_workers: 3,
        });
        expect(await stateOf(sql, activity)).toBe('failed_permanent');
      },
    );

    it('a job that runs alone on an extra attempt fails for good at its first error', async () => {
      const [activity = ''] = await activities(1);
      await automatic(activity);
      for (let failed = 0; failed < 2; failed += 1) {
        await complete(runs, ME, await begin(), RETRY);
        await passTime(sql, '2 minutes');
      }
      await begin();
      await loseWorker();
      await complete(runs, ME, await beginAlone(), RETRY);
      expect(await jobOf(sql, activity)).toMatchObject({ status: 'failed_permanent', attempt_count: 4 });
    });

    it('each job with an expired lease is taken back once by five sweeps at once', async () => {
      for (const activity of await activities(20)) await automatic(activity);
      await runs.claim(ME, 20, LEASE_MS);
      await passTime(sql, '1 minute');
      const swept = await Promise.all(Array.from({ length: 5 }, () => runs.requeueExpired()));
      expect(swept.flat()).toHaveLength(20);
    });

    it('a run whose lease expired cannot write to its job or activity, and its rejected writes are counted', async () => {
      const [activity = ''] = await activities(1);
      await automatic(activity);
      const zombie = await begin();
      await passTime(sql, '1 minute');
      await runs.requeueExpired();
      const before = await rejectedWrites();
      expect(await complete(runs, ME, zombie)).toBe(false);
      // The same worker claims the job again: its name alone does not make the old run valid.
      const owner = await beginAlone();
      expect(await complete(runs, ME, zombie)).toBe(false);
      expect(await runs.renew(ME, [zombie], LEASE_MS)).toEqual(new Set());
      expect(await runs.skip(ME, zombie)).toBe(false);
      expect(await rejectedWrites()).toBe(before + 2);
      expect(await isProcessed(sql, activity)).toBe(false);
      expect(await complete(runs, ME, owner)).toBe(true);
      expect(await complete(runs, ME, zombie, { kind: 'failed', error: 'too late' })).toBe(false);
      expect(await jobOf(sql, activity)).toMatchObject({
        status: 'succeeded',
        last_error: null,
        run_id: owner.run_id,
      });
      expect(await runsOf(sql, activity)).toMatchObject([
        { error: 'lease_expired' },
        { status: 'succeeded' },
      ]);
    });

    it('a claim whose lease expired cannot start, and no claim can start under another worker’s name', async () => {
      const [activity = ''] = await activities(1);
      await automatic(activity);
      const zombie = await claim();
      await passTime(sql, '1 minute');
      await runs.requeueExpired();
      const again = await claim();
      expect(await runs.start(ME, [zombie])).toEqual([]);
      expect(await runs.start('another', [again])).toEqual([]);
      expect(await runs.start(ME, [again])).toHaveLength(1);
    });
  });

  it('hasEnded returns the runs that complete has ended, and no run with an expired lease', async () => {
    const [done = '', lost = ''] = await activities(2);
    await automatic(done);
    await automatic(lost);
    const mine = await begin();
    const gone = await begin();
    await complete(runs, ME, mine);
    await passTime(sql, '1 minute');
    await runs.requeueExpired();
    expect(await runs.hasEnded(ME, [mine, gone])).toEqual(new Set([mine.run_id]));
  });

  it('skip ends the run of a processed activity, but not the run of a job that was forced meanwhile', async () => {
    const [activity = ''] = await activities(1);
    await forced(activity);
    await complete(runs, ME, await begin());
    await request(activity, { force: true });
    await sql.query('update jobs set force_update = false');
    const run = await begin();
    await forced(activity);
    expect(await runs.skip(ME, run)).toBe(false);
    await sql.query('update jobs set force_update = false');
    expect(await runs.skip(ME, run)).toBe(true);
    expect(await jobOf(sql, activity)).toMatchObject({ status: 'succeeded' });
    expect((await jobs.stateOf(ann, activity))?.result).toEqual({ segments: [] });
  });

  it('a run ends while its activity is being deleted, without a deadlock', async () => {
    const [activity = ''] = await activities(1);
    await automatic(activity);
    const run = await begin();
    const deleting = sql.query('delete from activity where id = $1', [activity]);
    await Promise.all([deleting, complete(runs, ME, run)]);
    expect(await stateOf(sql, activity)).toBeUndefined();
  });
});
