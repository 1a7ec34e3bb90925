import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type Database, DependencyUnavailable } from '#platform';
import { newAthlete } from '../../../../test/harness/athletes.js';
import { eventually } from '../../../../test/harness/eventually.js';
import { Proxy } from '../../../../test/harness/proxy.js';
import { openPool, openTestDatabase, type OpenDatabase } from '../../../../test/harness/test-database.js';
import {
  requestsOf,
  complete,
  deferred,
  type WorkerSetup,
  isProcessed,
  jobOf,
  jobsOf,
  LEASE_MS,
  newActivity,
  passTime,
  rejectedWrites,
  runsOf,
  ScriptedProcessor,
  SETTINGS,
  silent,
  SUCCEEDED,
  workerWith,
} from '../processing.harness.js';
import { Jobs } from '../lifecycle/jobs.js';
import { type RunClaim } from '../lifecycle/run.js';
import { Runs } from '../lifecycle/runs.js';
import { CannotBeProcessed, type Processor } from '../processor.js';
import { ConfigSnapshots } from '../settings/config-snapshots.js';
import { Completions } from './completions.js';
import { JobNotifications } from './job-notifications.js';
import { JobWorker } from './job-worker.js';

describe('JobWorker', () => {
  let open: OpenDatabase;
  let sql: Database;
  let jobs: Jobs;
  let runs: Runs;
  let ann: string;
  let processor: ScriptedProcessor;
  let workers: JobWorker[];
  let { automatic, forced } = requestsOf(undefined as unknown as Jobs, '');
  beforeAll(async () => {
    open = await openTestDatabase([], { poolSize: 10 });
    sql = open.database;
    jobs = new Jobs(sql);
    runs = new Runs(sql);
  });
  afterAll(() => open.close());
  beforeEach(async () => {
    await sql.query('delete from athlete');
    await sql.query('delete from config_snapshots');
    ann = await newAthlete(sql);
    processor = new ScriptedProcessor();
    workers = [];
    ({ automatic, forced } = requestsOf(jobs, ann));
  });
  afterEach(() => Promise.all(workers.map((worker) => worker.stop())));

  const start = (settings: WorkerSetup['settings'] = {}, more: Partial<WorkerSetup> = {}): JobWorker => {
    const worker = workerWith({ database: sql, url: open.url, processor, settings, ...more });
    workers.push(worker);
    worker.start();
    return worker;
  };
  const activities = (count: number) =>
    Promise.all(Array.from({ length: count }, () => newActivity(sql, ann)));
  const enqueue = (activityIds: readonly string[]) =>
    jobs.enqueue({ athleteId: ann, activityIds, kind: 'auto_poll', requestedBy: 'test' });
  const ended = (activityId: string, status: string) =>
    eventually(`${status}`, async () => {
      const job = await jobOf(sql, activityId);
      return job.status === status ? job : undefined;
    });

  it('a worker runs jobs enqueued before its start, and later ones when it is notified', async () => {
    const [before = '', after = ''] = await activities(2);
    await automatic(before);
    start();
    await ended(before, 'succeeded');
    await automatic(after);
    expect(await ended(after, 'succeeded')).toMatchObject({
      last_result_json: { of: after },
      attempt_count: 1,
    });
    expect(await isProcessed(sql, after)).toBe(true);
  });

  it('a worker finds a job without a notification by polling', async () => {
    const [first = '', second = ''] = await activities(2);
    const proxy = await Proxy.before(open.url);
    start({ pollMs: 20 }, { url: proxy.url, listenTimes: { heartbeatMs: 600_000, answerWithinMs: 2_000 } });
    await automatic(first);
    await ended(first, 'succeeded');
    proxy.forget();
    await automatic(second);
    await ended(second, 'succeeded');
    await proxy.close();
  });

  it('a worker is notified of jobs again after its connection was half-open', async () => {
    const [first = '', second = ''] = await activities(2);
    const proxy = await Proxy.before(open.url);
    start({}, { url: proxy.url, listenTimes: { heartbeatMs: 50, answerWithinMs: 300 } });
    await automatic(first);
    await ended(first, 'succeeded');
    proxy.forget();
    await automatic(second);
    await ended(second, 'succeeded');
    await proxy.close();
  });

  it('three workers run each of 60 jobs once', async () => {
    const all = await activities(60);
    const pools = await Promise.all(Array.from({ length: 3 }, () => openPool(open.url)));
    for (const { database } of pools) start({}, { database });
    await enqueue(all);
    await Promise.all(all.map((activity) => ended(activity, 'succeeded')));
    expect([...processor.begun].sort()).toEqual([...all].sort());
    await Promise.all(workers.map((worker) => worker.stop()));
    await Promise.all(pools.map((pool) => pool.close()));
  });

  it('a worker runs as many jobs at once as its concurrency, and claims more jobs as jobs end', async () => {
    const all = await activities(5);
    const releases = all.map((activity) => {
      const release = deferred();
      processor.when(activity, async () => {
        await release.promise;
        return { result: {} };
      });
      return release;
    });
    start({ concurrency: 2 });
    await enqueue(all);
    await eventually('two have begun', () => processor.begun.length === 2);
    expect(await jobs.countByStatus()).toEqual(
      new Map([
        ['queued', 3],
        ['running', 2],
      ]),
    );
    for (const release of releases) release.resolve();
    await Promise.all(all.map((activity) => ended(activity, 'succeeded')));
  });

  describe('with a misbehaving processor', () => {
    const deep = () => {
      let nested: Record<string, unknown> = {};
      for (let depth = 0; depth < 6_000; depth += 1) nested = { nested };
      return nested;
    };
    const circular: Record<string, unknown> = {};
    circular['circular'] = circular;
    const unreadable = {
      get result(): never {
        throw new Error('no');
      },
    };
    const answers = (answer: unknown) => () => Promise.resolve(answer) as ReturnType<Processor['process']>;
    const failures: Array<[string, Processor['process'], string, RegExp]> = [
      [
        'throws at once',
        () => {
          throw new Error('broken');
        },
        'retry_wait',
        /^Error: broken$/,
      ],
      ['throws later', () => Promise.reject(new Error('broken\0here')), 'retry_wait', /brokenhere/],
      [
        'throws an object that cannot be read',
        () => Promise.reject(Object.create(null) as Error),
        'retry_wait',
        /cannot be read/,
      ],
      [
        'throws CannotBeProcessed',
        () => Promise.reject(new CannotBeProcessed('a swim')),
        'failed_permanent',
        /a swim/,
      ],
      [
        'waits for an input',
        answers({ notNow: { waitsFor: 'streams', retryAfterMs: 60_000 } }),
        'retry_wait',
        /Waits for streams/,
      ],
      [
        'waits for an unnamed input',
        answers({ notNow: { waitsFor: '' } }),
        'failed_permanent',
        /no valid output/,
      ],
      ['returns nothing', answers(undefined), 'failed_permanent', /no valid output/],
      ['returns a string synchronously', (() => 'garbage') as never, 'failed_permanent', /no valid output/],
      ['returns another shape', answers({ result: [], title: 7 }), 'failed_permanent', /title/],
      ['returns circular references', answers({ result: circular }), 'failed_permanent', /cannot be read/],
      ['returns a getter that throws', answers(unreadable), 'failed_permanent', /cannot be read/],
      [
        'returns 10 MB',
        answers({ result: { much: 'x'.repeat(10_000_000) } }),
        'failed_permanent',
        /at most 262144 are allowed/,
      ],
      [
        'returns a NUL in its result',
        answers({ result: { text: 'a\0b' } }),
        'failed_permanent',
        /cannot be stored/,
      ],
      [
        'returns a NUL in a title',
        answers({ result: {}, title: 'a\0b' }),
        'failed_permanent',
        /cannot be stored/,
      ],
      [
        'returns a lone surrogate',
        answers({ result: { text: '\ud800' } }),
        'failed_permanent',
        /cannot be stored/,
      ],
      ['returns six thousand nested levels', answers({ result: deep() }), 'failed_permanent', /cannot be/],
    ];

    it('each misbehaviour of a processor is recorded in its own job and does not affect other jobs', async () => {
      const bad = await activities(failures.length);
      const good = await activities(3);
      failures.forEach(([, script], n) => processor.when(bad[n]!, script));
      start({ concurrency: 20 });
      await enqueue([...bad, ...good]);
      for (const activity of good) await ended(activity, 'succeeded');
      for (const [n, [name, , status, error]] of failures.entries()) {
        const job = await ended(bad[n]!, status);
        expect({ name, error: job.last_error }).toEqual({
          name,
          error: expect.stringMatching(error) as unknown,
        });
        expect(await runsOf(sql, bad[n]!)).toMatchObject([{ status, error: job.last_error }]);
      }
    });

    it('a run that hangs is aborted at its deadline, although its lease is renewed, and frees its slot', async () => {
      const [hung = '', next = ''] = await activities(2);
      let signal: AbortSignal | undefined;
      processor.when(hung, (_, given) => {
        signal = given;
        return new Promise(() => undefined);
      });
      // The lease outlasts a pause of a busy machine, and ends before the deadline unless the worker renews it.
      start({ concurrency: 1, deadlineMs: 5_000, leaseMs: 4_000 });
      await automatic(hung);
      const job = await ended(hung, 'retry_wait');
      expect(job.last_error).toBe('DeadlinePassed: The run took longer than 5 s');
      expect(job.waits_ms).toBeGreaterThan(30_000);
      expect(signal?.aborted).toBe(true);
      await automatic(next);
      await ended(next, 'succeeded');
    });

    it('the output of a run that passed its deadline is dropped', async () => {
      const [activity = ''] = await activities(1);
      const late = deferred<{ result: Record<string, unknown> }>();
      processor.when(activity, () => late.promise);
      const worker = start({ deadlineMs: 50 });
      await automatic(activity);
      await ended(activity, 'retry_wait');
      late.resolve({ result: { late: true } });
      await worker.stop();
      expect(await jobOf(sql, activity)).toMatchObject({ status: 'retry_wait', last_result_json: null });
    });
  });

  it('a cancelled run is aborted at the next renewal of its lease, and its output is not stored', async () => {
    const [activity = ''] = await activities(1);
    const reason = deferred<unknown>();
    processor.when(activity, async (_, signal) => {
      await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
      reason.resolve(signal.reason);
      return { result: { stubborn: true } };
    });
    const worker = start({ leaseMs: 900 });
    await automatic(activity);
    const { job_id } = await ended(activity, 'running');
    await jobs.cancel(ann, job_id);
    expect(await reason.promise).toMatchObject({ name: 'LeaseLost' });
    await worker.stop();
    expect(await jobOf(sql, activity)).toMatchObject({ status: 'cancelled', last_result_json: null });
  });

  it('a worker that paused for longer than its lease changes nothing while the next owner runs the job', async () => {
    const [activity = ''] = await activities(1);
    const awake = deferred();
    processor.when(activity, async () => {
      await awake.promise;
      return { result: { of: 'the sleeper' } };
    });
    // Concurrency 1: with a free slot this worker would claim the job again itself.
    const sleeper = start({ concurrency: 1 });
    await automatic(activity);
    await ended(activity, 'running');
    await passTime(sql, '1 minute');
    await runs.requeueExpired();
    const next = await runs.claimAlone('another', LEASE_MS);
    await runs.start('another', [next as RunClaim]);
    const before = await rejectedWrites();
    awake.resolve();
    await sleeper.stop();
    expect(await rejectedWrites()).toBe(before + 1);
    expect(await jobOf(sql, activity)).toMatchObject({ status: 'running', lease_owner: 'another' });
    expect(await complete(runs, 'another', next as RunClaim)).toBe(true);
    expect(await jobOf(sql, activity)).toMatchObject({
      status: 'succeeded',
      last_result_json: { segments: [] },
    });
  });

  describe('with a job that has lost a worker', () => {
    const held = (activity: string) => {
      const release = deferred();
      processor.when(activity, async () => {
        await release.promise;
        return { result: {} };
      });
      return release;
    };
    const enqueueLost = (activity: string) =>
      sql.transaction(async (transaction) => {
        await automatic(activity, transaction);
        await transaction.query('update jobs set lost_workers = 1 where activity_id = $1', [activity]);
      });
    const statusOf = async (activity: string) => (await jobOf(sql, activity)).status;

    it('a worker finishes its jobs, then runs only the job that has lost a worker, and then claims other jobs', async () => {
      const [lost = '', before = '', after = ''] = await activities(3);
      const releases = [held(before), held(lost)];
      start({ pollMs: 20 });
      await automatic(before);
      await ended(before, 'running');
      await enqueueLost(lost);
      await ended(lost, 'claimed');
      await automatic(after);
      // While the job waits to run alone, the worker claims no other job.
      expect(await statusOf(after)).toBe('queued');
      releases[0]?.resolve();
      await ended(lost, 'running');
      expect(await statusOf(before)).toBe('succeeded');
      expect(await statusOf(after)).toBe('queued');
      releases[1]?.resolve();
      await ended(after, 'succeeded');
      expect(processor.begun).toEqual([before, lost, after]);
    });

    it('a worker that is stopped releases a job that waits to run alone, without using an attempt', async () => {
      const [lost = '', before = ''] = await activities(2);
      const release = held(before);
      const worker = start({ pollMs: 20 });
      await automatic(before);
      await ended(before, 'running');
      await enqueueLost(lost);
      await ended(lost, 'claimed');
      const stopped = worker.stop();
      release.resolve();
      await stopped;
      expect(await jobOf(sql, lost)).toMatchObject({
        status: 'queued',
        attempt_count: 0,
        lost_workers: 1,
      });
    });

    it('a worker runs jobs that have lost a worker one after the other', async () => {
      const all = await activities(4);
      let atOnce = 0;
      let mostAtOnce = 0;
      for (const activity of all)
        processor.when(activity, async () => {
          atOnce += 1;
          mostAtOnce = Math.max(mostAtOnce, atOnce);
          await sql.query('select');
          atOnce -= 1;
          return { result: {} };
        });
      for (const activity of all) await enqueueLost(activity);
      // There are far fewer polls than jobs, since the end of one run starts the next run.
      start({ pollMs: 60_000 });
      await Promise.all(all.map((activity) => ended(activity, 'succeeded')));
      expect(mostAtOnce).toBe(1);
    });
  });

  it('a worker renews the lease of a running job', async () => {
    const [activity = ''] = await activities(1);
    const release = deferred();
    processor.when(activity, async () => {
      await release.promise;
      return { result: {} };
    });
    // The worker renews a lease every third of it. A lease of 4 s outlasts a pause of a busy machine.
    start({ leaseMs: 4_000 });
    await automatic(activity);
    await ended(activity, 'running');
    const expiry = async () => {
      const { rows } = await sql.query<{ at: Date }>('select lease_expires_at_utc as at from jobs');
      return rows[0]!.at.getTime();
    };
    const first = await expiry();
    await eventually('it is renewed twice', async () => (await expiry()) >= first + 2_000);
    expect(await runs.requeueExpired()).toEqual([]);
    release.resolve();
    await ended(activity, 'succeeded');
  });

  it('an activity is processed once automatically, and again when it is forced', async () => {
    const [activity = ''] = await activities(1);
    start();
    await automatic(activity);
    await ended(activity, 'succeeded');
    expect(await automatic(activity)).toMatchObject({ kind: 'already_processed' });
    await forced(activity);
    await eventually('both have ended', async () =>
      (await jobsOf(sql, activity)).every(({ status }) => status === 'succeeded'),
    );
    expect(processor.begun).toEqual([activity, activity]);
  });

  it('a forced request during an automatic run joins that run, and a later request gets a new run', async () => {
    const [activity = ''] = await activities(1);
    const release = deferred();
    processor.when(activity, async () => {
      await release.promise;
      return { result: {} };
    });
    start();
    await automatic(activity);
    const { job_id } = await ended(activity, 'running');
    expect(await forced(activity)).toMatchObject({ kind: 'joined', job: { job_id, force_update: true } });
    release.resolve();
    await ended(activity, 'succeeded');
    expect(await jobsOf(sql, activity)).toHaveLength(1);
    expect(processor.begun).toEqual([activity]);
    expect(await forced(activity)).toMatchObject({ kind: 'queued' });
    await eventually('it is processed again', () => processor.begun.length === 2);
  });

  it('a worker skips an automatic job whose activity was processed meanwhile', async () => {
    const [activity = ''] = await activities(1);
    await automatic(activity);
    await sql.query(
      `insert into processed_activities (athlete_id, activity_id, run_id)
       select athlete_id, id, gen_random_uuid() from activity where id = $1`,
      [activity],
    );
    start();
    expect(await ended(activity, 'succeeded')).toMatchObject({
      last_result_json: { skipped: 'already_processed' },
    });
    expect(processor.begun).toEqual([]);
  });

  it('a worker records its settings once, not again after a restart with the same settings', async () => {
    const taken = async () => {
      const { rows } = await sql.query<{ payload_json: unknown }>(
        'select payload_json from config_snapshots',
      );
      return rows.map(({ payload_json }) => payload_json);
    };
    const [first = '', second = ''] = await activities(2);
    start();
    await automatic(first);
    await ended(first, 'succeeded');
    await workers[0]!.stop();
    start();
    await automatic(second);
    await ended(second, 'succeeded');
    const { concurrency, leaseMs, deadlineMs, pollMs } = SETTINGS;
    expect(await taken()).toEqual([{ processor: 'scripted', concurrency, leaseMs, deadlineMs, pollMs }]);
  });

  it('a worker goes on when an activity is deleted during its run', async () => {
    const [gone = '', next = ''] = await activities(2);
    const release = deferred();
    processor.when(gone, async () => {
      await release.promise;
      return { result: {} };
    });
    start();
    await automatic(gone);
    await ended(gone, 'running');
    await sql.query('delete from activity where id = $1', [gone]);
    release.resolve();
    await automatic(next);
    await ended(next, 'succeeded');
  });

  describe('when stopped', () => {
    it('a worker that is stopped finishes its running job and begins no other', async () => {
      const [running = '', waiting = ''] = await activities(2);
      const release = deferred();
      processor.when(running, async () => {
        await release.promise;
        return { result: {} };
      });
      const worker = start({ concurrency: 1 });
      await automatic(running);
      await ended(running, 'running');
      await automatic(waiting);
      const stopping = worker.stop();
      release.resolve();
      await stopping;
      expect(await jobOf(sql, running)).toMatchObject({ status: 'succeeded' });
      expect(await jobOf(sql, waiting)).toMatchObject({ status: 'queued', attempt_count: 0 });
    });

    it('a worker that is stopped aborts a run that does not end in time, and the job of the run is due again at once', async () => {
      const [activity = ''] = await activities(1);
      processor.when(activity, () => new Promise(() => undefined));
      const worker = start({ stopWithinMs: 20 });
      await automatic(activity);
      await ended(activity, 'running');
      await worker.stop();
      const job = await jobOf(sql, activity);
      expect(job).toMatchObject({
        status: 'retry_wait',
        last_error: 'WorkerStopping: The worker was stopped',
      });
      expect(job.waits_ms).toBeLessThanOrEqual(0);
    });

    it('a worker that is stopped releases a claimed job that has not begun, without using an attempt', async () => {
      const [activity = ''] = await activities(1);
      const claimed = deferred();
      const answered = deferred();
      class SlowClaims extends Runs {
        override async claim(owner: string, most: number, leaseMs: number): Promise<RunClaim[]> {
          const claims = await super.claim(owner, most, leaseMs);
          if (claims.length === 0) return claims;
          claimed.resolve();
          await answered.promise;
          return claims;
        }
      }
      const notifications = new JobNotifications(open.url, silent);
      const slow = new SlowClaims(sql);
      const worker = new JobWorker(
        slow,
        new ConfigSnapshots(sql),
        notifications,
        processor,
        SETTINGS,
        silent,
      );
      await automatic(activity);
      worker.start();
      await claimed.promise;
      const stopping = worker.stop();
      answered.resolve();
      await stopping;
      expect(await jobOf(sql, activity)).toMatchObject({
        status: 'queued',
        attempt_count: 0,
        lease_owner: null,
      });
      expect(processor.begun).toEqual([]);
    });
  });

  it('a completion whose answer is lost at the commit is not counted as a rejected write', async () => {
    const [activity = ''] = await activities(1);
    await automatic(activity);
    const [claim] = await runs.claim('me', 1, LEASE_MS);
    await runs.start('me', [claim as RunClaim]);
    let isLost = false;
    class LostAnswer extends Runs {
      override async complete(...given: Parameters<Runs['complete']>): ReturnType<Runs['complete']> {
        const written = await super.complete(...given);
        if (isLost) return written;
        isLost = true;
        throw new DependencyUnavailable('postgres');
      }
    }
    const before = await rejectedWrites();
    const completions = new Completions('me', new LostAnswer(sql));
    expect(await completions.complete({ claim: claim as RunClaim, outcome: SUCCEEDED })).toBe(true);
    expect(await rejectedWrites()).toBe(before);
    expect(await jobOf(sql, activity)).toMatchObject({ status: 'succeeded' });
  });
});
