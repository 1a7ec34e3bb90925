import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import fc from 'fast-check';
import { type Database } from '#platform';
import { newAthlete } from '../../../../test/harness/athletes.js';
import { openPool, openTestDatabase, type OpenDatabase } from '../../../../test/harness/test-database.js';
import {
  asker,
  complete,
  FAILED,
  isProcessed,
  jobsOf,
  LEASE_MS,
  newActivity,
  passTime,
  rejectedWrites,
  RETRY,
  runsOf,
  stateOf,
  SUCCEEDED,
} from '../jobs.harness.js';
import { type JobStatus } from './job.js';
import { Jobs } from './jobs.js';
import { type Claim } from './run.js';
import { Runs } from './runs.js';

// More of them before a release: MODEL_RUNS=2000.
const RUNS = Number(process.env['MODEL_RUNS'] ?? 60);
const ACTIVITIES = 3;
const WORKERS = 3;
const LEASE_S = LEASE_MS / 1_000;
const RETRY_S = 60;
const MOST_ATTEMPTS = 3;
const ENDINGS = { succeed: SUCCEEDED, fail: FAILED, retry: RETRY } as const;
type EndingName = keyof typeof ENDINGS;

/** A claim that somebody once got, however long ago. */
interface Held {
  readonly claim: Claim;
  readonly owner: string;
}

describe('the jobs of several workers', () => {
  let open: OpenDatabase;
  let pools: Array<Awaited<ReturnType<typeof openPool>>>;
  let athleteId: string;
  beforeAll(async () => {
    open = await openTestDatabase();
    pools = await Promise.all(Array.from({ length: WORKERS }, () => openPool(open.url)));
    athleteId = await newAthlete(open.database);
  });
  afterEach(() => {
    jest.restoreAllMocks();
  });
  afterAll(async () => {
    await Promise.all(pools.map((pool) => pool.close()));
    await open.close();
  });

  it('agree with a model, whatever happens in whatever order', async () => {
    const activity = fc.nat(ACTIVITIES - 1);
    const worker = fc.nat(WORKERS - 1);
    const which = fc.nat(1_000);
    const how = fc.constantFrom<EndingName[]>('succeed', 'fail', 'retry');
    const event = fc.oneof(
      { weight: 6, arbitrary: fc.tuple(fc.constant('ask' as const), activity, fc.boolean()) },
      {
        weight: 8,
        arbitrary: fc.tuple(fc.constant('claim' as const), worker, fc.integer({ min: 1, max: 3 })),
      },
      { weight: 4, arbitrary: fc.tuple(fc.constant('claim together' as const), worker, worker) },
      // Of all claims there ever were, so that many of them are over.
      { weight: 5, arbitrary: fc.tuple(fc.constant('start' as const), which, worker) },
      { weight: 8, arbitrary: fc.tuple(fc.constant('start newest' as const), which, worker) },
      { weight: 6, arbitrary: fc.tuple(fc.constant('end' as const), which, how) },
      { weight: 8, arbitrary: fc.tuple(fc.constant('end newest' as const), which, how) },
      { weight: 3, arbitrary: fc.tuple(fc.constant('skip' as const), which, worker) },
      { weight: 3, arbitrary: fc.tuple(fc.constant('release' as const), which, worker) },
      { weight: 4, arbitrary: fc.tuple(fc.constant('renew' as const), which, worker) },
      // Seconds: within a lease, beyond it, and beyond a retry.
      { weight: 8, arbitrary: fc.tuple(fc.constant('pause' as const), fc.constantFrom(10, 35, 70), worker) },
      { weight: 5, arbitrary: fc.tuple(fc.constant('sweep' as const), worker, worker) },
      { weight: 2, arbitrary: fc.tuple(fc.constant('sweep together' as const), worker, worker) },
      // The same worker again, so that its name is no help to whoever asks which run it means.
      { weight: 5, arbitrary: fc.tuple(fc.constant('sleep' as const), worker, worker) },
      { weight: 2, arbitrary: fc.tuple(fc.constant('cancel' as const), activity, worker) },
      // The worker is gone, and what it held with it; it comes back under another name.
      { weight: 2, arbitrary: fc.tuple(fc.constant('crash' as const), worker, worker) },
      // Of the app's clock, in minutes.
      { weight: 3, arbitrary: fc.tuple(fc.constant('jump' as const), fc.constantFrom(-10, 10), worker) },
    );
    await fc.assert(
      fc.asyncProperty(fc.array(event, { minLength: 10, maxLength: 60, size: 'max' }), async (events) => {
        const databases = pools.map(({ database }) => database);
        const run = await Sequence.begin(open.database, databases, athleteId);
        for (const one of events) {
          if (one[0] === 'ask') await run.ask(one[1], one[2]);
          else if (one[0] === 'claim') await run.claim(one[1], one[2]);
          else if (one[0] === 'claim together') await run.claimTogether();
          else if (one[0] === 'start') await run.start(run.any(one[1]));
          else if (one[0] === 'start newest') await run.start(run.held.at(-1));
          else if (one[0] === 'end') await run.end(run.any(one[1]), one[2]);
          else if (one[0] === 'end newest') await run.end(run.held.at(-1), one[2]);
          else if (one[0] === 'skip') await run.skip(run.any(one[1]));
          else if (one[0] === 'release') await run.release(run.any(one[1]));
          else if (one[0] === 'renew') await run.renew(run.any(one[1]));
          else if (one[0] === 'pause') await run.pause(one[1]);
          else if (one[0] === 'sweep') await run.sweep([one[1]]);
          else if (one[0] === 'sweep together') await run.sweep([0, 1, 2, 0, 1, 2]);
          else if (one[0] === 'sleep') await run.sleepThroughLease();
          else if (one[0] === 'cancel') await run.cancel(one[1]);
          else if (one[0] === 'crash') run.crash(one[1]);
          else run.jump(one[1]);
          await run.compare();
        }
      }),
      { numRuns: RUNS },
    );
  });
});

/** One sequence of events, done to the database and to the model. */
class Sequence {
  held: Held[] = [];
  private readonly owners = Array.from({ length: WORKERS }, (_, n) => `worker ${n}`);
  private readonly workers: readonly Runs[];
  private readonly jobs: Jobs;
  private readonly rejectedBefore: number;

  private constructor(
    private readonly sql: Database,
    databases: readonly Database[],
    private readonly athleteId: string,
    private readonly ids: readonly string[],
    private readonly model: Model,
    rejected: number,
  ) {
    this.workers = databases.map((database) => new Runs(database));
    this.jobs = new Jobs(sql);
    this.rejectedBefore = rejected;
  }

  static async begin(sql: Database, databases: readonly Database[], athleteId: string): Promise<Sequence> {
    jest.restoreAllMocks();
    await sql.query('delete from activity');
    const ids: string[] = [];
    for (let n = 0; n < ACTIVITIES; n += 1) ids.push(await newActivity(sql, athleteId));
    return new Sequence(sql, databases, athleteId, ids, new Model(), await rejectedWrites());
  }

  any(which: number): Held | undefined {
    return this.held[which % this.held.length];
  }

  async ask(activity: number, force: boolean): Promise<void> {
    const { automatic, forced } = asker(this.jobs, this.athleteId);
    const enqueued = await (force ? forced : automatic)(this.ids[activity]!);
    expect(enqueued.kind).toBe(this.model.ask(activity, force));
  }

  async claim(worker: number, most: number): Promise<void> {
    const owner = this.owners[worker]!;
    const claims = await this.workers[worker]!.claim(owner, most, LEASE_MS);
    const expected = this.model.next(most);
    expect(this.numbersOf(claims)).toEqual(expected.map(({ activity }) => activity).sort());
    this.take(owner, claims);
  }

  async claimTogether(): Promise<void> {
    const expected = this.model.next(2 * WORKERS).map(({ activity }) => activity);
    const taken = await Promise.all(
      this.workers.map(async (runs, n) => ({
        owner: this.owners[n]!,
        claims: await runs.claim(this.owners[n]!, 2, LEASE_MS),
      })),
    );
    expect(this.numbersOf(taken.flatMap(({ claims }) => claims))).toEqual(expected.sort());
    for (const { owner, claims } of taken) this.take(owner, claims);
  }

  async start(held: Held | undefined): Promise<void> {
    if (!held) return;
    const begun = await this.workers[0]!.start(held.owner, [held.claim]);
    expect(begun.length === 1).toBe(this.model.start(held));
  }

  async end(held: Held | undefined, how: EndingName): Promise<void> {
    if (!held) return;
    const isOurs = await complete(this.workers[1]!, held.owner, held.claim, ENDINGS[how]);
    expect(isOurs).toBe(this.model.end(held, how));
  }

  async skip(held: Held | undefined): Promise<void> {
    if (!held) return;
    expect(await this.workers[1]!.skip(held.owner, held.claim)).toBe(this.model.skip(held));
  }

  async release(held: Held | undefined): Promise<void> {
    if (!held) return;
    await this.workers[2]!.release(held.owner, [held.claim]);
    this.model.release(held);
  }

  async renew(held: Held | undefined): Promise<void> {
    if (!held) return;
    const renewed = await this.workers[2]!.renew(held.owner, [held.claim], LEASE_MS);
    expect(renewed.has(held.claim.run_id)).toBe(this.model.renew(held));
  }

  async pause(seconds: number): Promise<void> {
    await passTime(this.sql, `${seconds} seconds`);
    this.model.second += seconds;
  }

  async sweep(sweepers: readonly number[]): Promise<void> {
    const taken = await Promise.all(sweepers.map((worker) => this.workers[worker]!.requeueExpired()));
    const numbers = taken.flat().map(({ activity_id }) => this.ids.indexOf(activity_id));
    expect(numbers.sort()).toEqual(this.model.sweep().sort());
  }

  async sleepThroughLease(): Promise<void> {
    const sleeper = this.owners.indexOf(this.held.at(-1)?.owner ?? '');
    if (sleeper < 0) return;
    await this.pause(35);
    await this.sweep([sleeper]);
    await this.claim(sleeper, 3);
    await this.start(this.held.at(-1));
  }

  async cancel(activity: number): Promise<void> {
    const newest = (await jobsOf(this.sql, this.ids[activity]!)).at(-1);
    if (!newest) return;
    const cancelling = this.jobs.cancel(this.athleteId, newest.job_id);
    if (this.model.cancel(activity)) expect(await cancelling).toMatchObject({ status: 'cancelled' });
    else await expect(cancelling).rejects.toThrow('already finished');
  }

  crash(worker: number): void {
    const owner = this.owners[worker]!;
    this.held = this.held.filter((held) => held.owner !== owner);
    this.owners[worker] = `${owner} again`;
  }

  jump(minutes: number): void {
    const now = Date.now();
    jest.restoreAllMocks();
    jest.spyOn(Date, 'now').mockImplementation(() => now + minutes * 60_000);
  }

  async compare(): Promise<void> {
    for (const [activity, id] of this.ids.entries()) {
      const jobs = (await jobsOf(this.sql, id)).map((job) => ({
        status: job.status,
        attempts: job.attempt_count,
        force: job.force_update,
        owner: job.lease_owner,
      }));
      expect(jobs).toEqual(this.model.jobsOf(activity));
      expect((await runsOf(this.sql, id)).map(({ status }) => status)).toEqual(this.model.runs[activity]);
      expect(await isProcessed(this.sql, id)).toBe(this.model.processed.has(activity));
      // A claim shows in the state once it has begun.
      const state = this.model.newest(activity)?.status;
      if (state !== 'claimed') expect(await stateOf(this.sql, id)).toBe(this.model.states[activity]);
    }
    expect((await rejectedWrites()) - this.rejectedBefore).toBe(this.model.rejected);
  }

  private take(owner: string, claims: readonly Claim[]): void {
    for (const claim of claims) {
      this.held.push({ claim, owner });
      this.model.claimed(this.ids.indexOf(claim.activity_id), claim.run_id, owner);
    }
  }

  private numbersOf(claims: readonly Claim[]): number[] {
    return claims.map(({ activity_id }) => this.ids.indexOf(activity_id)).sort();
  }
}

interface ModelJob {
  readonly activity: number;
  readonly number: number;
  status: JobStatus;
  attempts: number;
  force: boolean;
  priority: number;
  availableAt: number;
  leaseUntil: number;
  owner: string | null;
  run: string | null;
  /** Where its run stands in the list of the activity's. */
  runAt: number | undefined;
}

/** What should be so, in seconds. */
class Model {
  second = 0;
  rejected = 0;
  readonly processed = new Set<number>();
  readonly runs: JobStatus[][] = Array.from({ length: ACTIVITIES }, () => []);
  readonly states: Array<JobStatus | undefined> = Array.from({ length: ACTIVITIES }, () => undefined);
  private readonly jobs: ModelJob[] = [];

  newest(activity: number): ModelJob | undefined {
    return this.jobs.filter((job) => job.activity === activity).at(-1);
  }

  jobsOf(activity: number) {
    const own = this.jobs.filter((job) => job.activity === activity);
    return own.map(({ status, attempts, force, owner }) => ({ status, attempts, force, owner }));
  }

  ask(activity: number, force: boolean): string {
    if (!force && this.processed.has(activity)) return 'already_processed';
    const priority = force ? 10 : 0;
    const unfinished = this.unfinished(activity);
    if (unfinished) {
      unfinished.force ||= force;
      unfinished.priority = Math.max(unfinished.priority, priority);
      if (force) unfinished.availableAt = Math.min(unfinished.availableAt, this.second);
      return 'joined';
    }
    const fresh = {
      status: 'queued',
      attempts: 0,
      leaseUntil: 0,
      owner: null,
      run: null,
      runAt: undefined,
    } as const;
    this.jobs.push({
      ...fresh,
      activity,
      force,
      priority,
      number: this.jobs.length,
      availableAt: this.second,
    });
    this.states[activity] = 'queued';
    return 'queued';
  }

  next(most: number): ModelJob[] {
    return this.jobs
      .filter(({ status }) => status === 'queued' || status === 'retry_wait')
      .filter(({ availableAt }) => availableAt <= this.second)
      .sort((a, b) => b.priority - a.priority || a.number - b.number)
      .slice(0, most);
  }

  claimed(activity: number, run: string, owner: string): void {
    const job = this.unfinished(activity)!;
    const leaseUntil = this.second + LEASE_S;
    Object.assign(job, {
      status: 'claimed',
      attempts: job.attempts + 1,
      run,
      owner,
      leaseUntil,
      runAt: undefined,
    });
  }

  start(held: Held): boolean {
    const job = this.of(held, ['claimed']);
    if (!job) return this.reject();
    job.runAt = this.runs[job.activity]!.push('running') - 1;
    this.move(job, 'running');
    return true;
  }

  end(held: Held, how: EndingName): boolean {
    const job = this.of(held, ['running']);
    if (!job) return this.reject();
    if (how === 'succeed') this.processed.add(job.activity);
    const isLast = job.attempts >= MOST_ATTEMPTS;
    const retried = isLast ? 'failed_permanent' : 'retry_wait';
    const status = { succeed: 'succeeded', fail: 'failed_permanent', retry: retried } as const;
    this.endRun(job, status[how]);
    this.move(job, status[how]);
    job.availableAt = this.second + RETRY_S;
    return true;
  }

  skip(held: Held): boolean {
    const job = this.of(held, ['running']);
    if (!job || job.force) return false;
    this.endRun(job, 'succeeded');
    this.move(job, 'succeeded');
    return true;
  }

  release(held: Held): void {
    const job = this.of(held, ['claimed']);
    if (!job) return;
    const before = this.states[job.activity];
    job.attempts -= 1;
    this.move(job, 'queued');
    this.states[job.activity] = before;
  }

  renew(held: Held): boolean {
    const job = this.of(held, ['claimed', 'running']);
    if (job) job.leaseUntil = this.second + LEASE_S;
    return job !== undefined;
  }

  sweep(): number[] {
    const expired = this.jobs.filter(({ owner, leaseUntil }) => owner !== null && leaseUntil <= this.second);
    for (const job of expired) {
      this.endRun(job, 'failed_permanent');
      this.move(job, job.attempts >= MOST_ATTEMPTS ? 'failed_permanent' : 'queued');
      job.availableAt = this.second;
    }
    return expired.map(({ activity }) => activity);
  }

  cancel(activity: number): boolean {
    const job = this.unfinished(activity);
    if (!job) return false;
    if (job.status === 'running') this.endRun(job, 'cancelled');
    this.move(job, 'cancelled');
    return true;
  }

  private reject(): false {
    this.rejected += 1;
    return false;
  }

  private of({ claim, owner }: Held, statuses: readonly JobStatus[]): ModelJob | undefined {
    return this.jobs.find(
      (job) => job.run === claim.run_id && job.owner === owner && statuses.includes(job.status),
    );
  }

  private unfinished(activity: number): ModelJob | undefined {
    return this.jobs.find(
      (job) =>
        job.activity === activity && !['succeeded', 'failed_permanent', 'cancelled'].includes(job.status),
    );
  }

  private endRun(job: ModelJob, status: JobStatus): void {
    if (job.runAt !== undefined) this.runs[job.activity]![job.runAt] = status;
  }

  private move(job: ModelJob, status: JobStatus): void {
    job.status = status;
    if (status !== 'running' && status !== 'claimed') job.owner = null;
    this.states[job.activity] = status;
  }
}
