import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type Database, DependencyUnavailable } from '#platform';
import { newAthlete } from '../../../../test/harness/athletes.js';
import { eventually } from '../../../../test/harness/eventually.js';
import { Proxy } from '../../../../test/harness/proxy.js';
import { openPool, openTestDatabase, type OpenDatabase } from '../../../../test/harness/test-database.js';
import {
  asker,
  complete,
  gate,
  type Given,
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
} from '../jobs.harness.js';
import { Jobs } from '../lifecycle/jobs.js';
import { type Claim } from '../lifecycle/run.js';
import { Runs } from '../lifecycle/runs.js';
import { CannotBeProcessed, type Processor } from '../processor.js';
import { ConfigSnapshots } from '../settings/config-snapshots.js';
import { Completions } from './completions.js';
import { JobNotifications } from './job-notifications.js';
import { JobWorker } from './job-worker.js';

describe('a worker', () => {
  let open: OpenDatabase;
  let sql: Database;
  let jobs: Jobs;
  let runs: Runs;
  let ann: string;
  let processor: ScriptedProcessor;
  let workers: JobWorker[];
  let { automatic, forced } = asker(undefined as unknown as Jobs, '');
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
    ({ automatic, forced } = asker(jobs, ann));
  });
  afterEach(() => Promise.all(workers.map((worker) => worker.stop())));

  const start = (settings: Given['settings'] = {}, more: Partial<Given> = {}): JobWorker => {
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

  it('does what is enqueued, as soon as it hears of it', async () => {
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

  it('finds what it was not told of', async () => {
    const [first = '', second = ''] = await activities(2);
    const proxy = await Proxy.before(open.url);
    start({ pollMs: 20 }, { url: proxy.url, patience: { heartbeatMs: 600_000, answerWithinMs: 2_000 } });
    await automatic(first);
    await ended(first, 'succeeded');
    proxy.forget();
    await automatic(second);
    await ended(second, 'succeeded');
    await proxy.close();
  });

  it('hears of jobs over a link that was half-open for a while', async () => {
    const [first = '', second = ''] = await activities(2);
    const proxy = await Proxy.before(open.url);
    start({}, { url: proxy.url, patience: { heartbeatMs: 50, answerWithinMs: 300 } });
    await automatic(first);
    await ended(first, 'succeeded');
    proxy.forget();
    await automatic(second);
    await ended(second, 'succeeded');
    await proxy.close();
  });

  it('shares the work with others: each job is done once', async () => {
    const all = await activities(60);
    const pools = await Promise.all(Array.from({ length: 3 }, () => openPool(open.url)));
    for (const { database } of pools) start({}, { database });
    await enqueue(all);
    await Promise.all(all.map((activity) => ended(activity, 'succeeded')));
    expect([...processor.begun].sort()).toEqual([...all].sort());
    await Promise.all(workers.map((worker) => worker.stop()));
    await Promise.all(pools.map((pool) => pool.close()));
  });

  it('has as many in hand as it may, and goes on as they end', async () => {
    const all = await activities(5);
    const doors = all.map((activity) => {
      const door = gate();
      processor.when(activity, async () => {
        await door.opened;
        return { result: {} };
      });
      return door;
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
    for (const door of doors) door.open();
    await Promise.all(all.map((activity) => ended(activity, 'succeeded')));
  });

  describe('with a processor that', () => {
    const deep = () => {
      let nested: Record<string, unknown> = {};
      for (let depth = 0; depth < 6_000; depth += 1) nested = { nested };
      return nested;
    };
    const round: Record<string, unknown> = {};
    round['round'] = round;
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
        'throws what is no error',
        () => Promise.reject(Object.create(null) as Error),
        'retry_wait',
        /cannot be read/,
      ],
      ['gives up', () => Promise.reject(new CannotBeProcessed('a swim')), 'failed_permanent', /a swim/],
      ['answers nothing', answers(undefined), 'failed_permanent', /something else/],
      ['answers at once, and garbage', (() => 'garbage') as never, 'failed_permanent', /something else/],
      ['answers another shape', answers({ result: [], title: 7 }), 'failed_permanent', /title/],
      ['answers what goes round', answers({ result: round }), 'failed_permanent', /cannot be read/],
      ['answers what throws when it is read', answers(unreadable), 'failed_permanent', /cannot be read/],
      [
        'answers 10 MB',
        answers({ result: { much: 'x'.repeat(10_000_000) } }),
        'failed_permanent',
        /262144 are kept/,
      ],
      [
        'answers what Postgres has no letters for',
        answers({ result: { text: 'a\0b' } }),
        'failed_permanent',
        /cannot be stored/,
      ],
      [
        'answers a NUL in a title',
        answers({ result: {}, title: 'a\0b' }),
        'failed_permanent',
        /cannot be stored/,
      ],
      [
        'answers half a letter',
        answers({ result: { text: '\ud800' } }),
        'failed_permanent',
        /cannot be stored/,
      ],
      ['answers six thousand levels', answers({ result: deep() }), 'failed_permanent', /cannot be/],
    ];

    it('misbehaves in every way at once, each is recorded and the others are unharmed', async () => {
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

    it('hangs is cut at the deadline, though its lease is renewed, and its slot is free again', async () => {
      const [hung = '', next = ''] = await activities(2);
      let signal: AbortSignal | undefined;
      processor.when(hung, (_, given) => {
        signal = given;
        return new Promise(() => undefined);
      });
      start({ concurrency: 1, deadlineMs: 2_000, leaseMs: 1_800 });
      await automatic(hung);
      const job = await ended(hung, 'retry_wait');
      expect(job.last_error).toBe('DeadlinePassed: Not done within 2 s');
      expect(job.waits_ms).toBeGreaterThan(30_000);
      expect(signal?.aborted).toBe(true);
      await automatic(next);
      await ended(next, 'succeeded');
    });

    it('answers after it was given up changes nothing', async () => {
      const [activity = ''] = await activities(1);
      const late = gate<{ result: Record<string, unknown> }>();
      processor.when(activity, () => late.opened);
      const worker = start({ deadlineMs: 50 });
      await automatic(activity);
      await ended(activity, 'retry_wait');
      late.open({ result: { late: true } });
      await worker.stop();
      expect(await jobOf(sql, activity)).toMatchObject({ status: 'retry_wait', last_result_json: null });
    });
  });

  it('tells a run that was cancelled at its next renewal, and does not write what it found', async () => {
    const [activity = ''] = await activities(1);
    const told = gate<unknown>();
    processor.when(activity, async (_, signal) => {
      await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
      told.open(signal.reason);
      return { result: { stubborn: true } };
    });
    const worker = start({ leaseMs: 900 });
    await automatic(activity);
    const { job_id } = await ended(activity, 'running');
    await jobs.cancel(ann, job_id);
    expect(await told.opened).toMatchObject({ name: 'LeaseLost' });
    await worker.stop();
    expect(await jobOf(sql, activity)).toMatchObject({ status: 'cancelled', last_result_json: null });
  });

  it('that slept through its lease changes nothing, while the next owner works', async () => {
    const [activity = ''] = await activities(1);
    const awake = gate();
    processor.when(activity, async () => {
      await awake.opened;
      return { result: { of: 'the sleeper' } };
    });
    // No hand free, or it would hear of the job that is taken back and claim it itself.
    const sleeper = start({ concurrency: 1 });
    await automatic(activity);
    await ended(activity, 'running');
    await passTime(sql, '1 minute');
    await runs.requeueExpired();
    const [next] = await runs.claim('another', 1, LEASE_MS);
    await runs.start('another', [next as Claim]);
    const before = await rejectedWrites();
    awake.open();
    await sleeper.stop();
    expect(await rejectedWrites()).toBe(before + 1);
    expect(await jobOf(sql, activity)).toMatchObject({ status: 'running', lease_owner: 'another' });
    expect(await complete(runs, 'another', next as Claim)).toBe(true);
    expect(await jobOf(sql, activity)).toMatchObject({
      status: 'succeeded',
      last_result_json: { segments: [] },
    });
  });

  it('keeps its lease for as long as it works', async () => {
    const [activity = ''] = await activities(1);
    const door = gate();
    processor.when(activity, async () => {
      await door.opened;
      return { result: {} };
    });
    start({ leaseMs: 1_800 });
    await automatic(activity);
    await ended(activity, 'running');
    const expiry = async () => {
      const { rows } = await sql.query<{ at: Date }>('select lease_expires_at_utc as at from jobs');
      return rows[0]!.at.getTime();
    };
    const first = await expiry();
    await eventually('it is renewed twice', async () => (await expiry()) >= first + 1_000);
    expect(await runs.requeueExpired()).toEqual([]);
    door.open();
    await ended(activity, 'succeeded');
  });

  it('processes an activity once by itself, and again for whoever forces it', async () => {
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

  it('gives whoever forces an activity during its automatic run that run, and the next one a run of its own', async () => {
    const [activity = ''] = await activities(1);
    const door = gate();
    processor.when(activity, async () => {
      await door.opened;
      return { result: {} };
    });
    start();
    await automatic(activity);
    const { job_id } = await ended(activity, 'running');
    expect(await forced(activity)).toMatchObject({ kind: 'joined', job: { job_id, force_update: true } });
    door.open();
    await ended(activity, 'succeeded');
    expect(await jobsOf(sql, activity)).toHaveLength(1);
    expect(processor.begun).toEqual([activity]);
    expect(await forced(activity)).toMatchObject({ kind: 'queued' });
    await eventually('it is processed again', () => processor.begun.length === 2);
  });

  it('passes over an automatic job whose activity was processed meanwhile', async () => {
    const [activity = ''] = await activities(1);
    await automatic(activity);
    await sql.query('insert into processed_activities (activity_id, run_id) values ($1, gen_random_uuid())', [
      activity,
    ]);
    start();
    expect(await ended(activity, 'succeeded')).toMatchObject({
      last_result_json: { skipped: 'already_processed' },
    });
    expect(processor.begun).toEqual([]);
  });

  it('keeps its settings once', async () => {
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

  it('goes on when an activity is deleted under it', async () => {
    const [gone = '', next = ''] = await activities(2);
    const door = gate();
    processor.when(gone, async () => {
      await door.opened;
      return { result: {} };
    });
    start();
    await automatic(gone);
    await ended(gone, 'running');
    await sql.query('delete from activity where id = $1', [gone]);
    door.open();
    await automatic(next);
    await ended(next, 'succeeded');
  });

  describe('that stops', () => {
    it('finishes what it has in hand and begins nothing more', async () => {
      const [inHand = '', waiting = ''] = await activities(2);
      const door = gate();
      processor.when(inHand, async () => {
        await door.opened;
        return { result: {} };
      });
      const worker = start({ concurrency: 1 });
      await automatic(inHand);
      await ended(inHand, 'running');
      await automatic(waiting);
      const stopping = worker.stop();
      door.open();
      await stopping;
      expect(await jobOf(sql, inHand)).toMatchObject({ status: 'succeeded' });
      expect(await jobOf(sql, waiting)).toMatchObject({ status: 'queued', attempt_count: 0 });
    });

    it('leaves to others what does not end in time', async () => {
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

    it('gives back what it has claimed and not begun', async () => {
      const [activity = ''] = await activities(1);
      const claimed = gate();
      const answered = gate();
      class SlowClaims extends Runs {
        override async claim(owner: string, most: number, leaseMs: number): Promise<Claim[]> {
          const claims = await super.claim(owner, most, leaseMs);
          if (claims.length === 0) return claims;
          claimed.open();
          await answered.opened;
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
      await claimed.opened;
      const stopping = worker.stop();
      answered.open();
      await stopping;
      expect(await jobOf(sql, activity)).toMatchObject({
        status: 'queued',
        attempt_count: 0,
        lease_owner: null,
      });
      expect(processor.begun).toEqual([]);
    });
  });

  it('whose answer is lost at the commit knows that the run has ended', async () => {
    const [activity = ''] = await activities(1);
    await automatic(activity);
    const [claim] = await runs.claim('me', 1, LEASE_MS);
    await runs.start('me', [claim as Claim]);
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
    expect(await completions.complete({ claim: claim as Claim, ending: SUCCEEDED })).toBe(true);
    expect(await rejectedWrites()).toBe(before);
    expect(await jobOf(sql, activity)).toMatchObject({ status: 'succeeded' });
  });
});
