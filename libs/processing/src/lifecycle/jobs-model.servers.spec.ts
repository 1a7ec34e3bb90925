import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import fc from 'fast-check';
import { type Database } from '#platform';
import { newAthlete } from '../../../../test/harness/athletes.js';
import { modelRuns } from '../../../../test/harness/model-runs.js';
import { openPool, openTestDatabase, type OpenDatabase } from '../../../../test/harness/test-database.js';
import {
  requestsOf,
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
} from '../processing.harness.js';
import { type JobStatus } from './job.js';
import { Jobs } from './jobs.js';
import { type RunClaim } from './run.js';
import { Runs } from './runs.js';

// Some waits of these tests are longer than the usual 90 s of a test.
jest.setTimeout(180_000);

// Before a release, more runs: MODEL_RUNS=2000.
const ACTIVITIES = 3;
const WORKERS = 3;
const LEASE_S = LEASE_MS / 1_000;
const RETRY_S = 60;
const MOST_ATTEMPTS = 3;
const MOST_LOST_WORKERS = 3;
const WAITING = { kind: 'waiting', waitsFor: 'streams', afterMs: RETRY_S * 1_000 } as const;
const OUTCOMES = { succeed: SUCCEEDED, fail: FAILED, retry: RETRY, wait: WAITING } as const;
type OutcomeName = keyof typeof OUTCOMES;

/** A claim that a worker got at some time; it may be invalid by now. */
interface PastClaim {
  readonly claim: RunClaim;
  readonly owner: string;
}

describe('jobs of three workers', () => {
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

  it('jobs of three workers agree with a model under random sequences of events', async () => {
    const activity = fc.nat(ACTIVITIES - 1);
    const worker = fc.nat(WORKERS - 1);
    const which = fc.nat(1_000);
    const how = fc.constantFrom<OutcomeName[]>('succeed', 'fail', 'retry', 'wait');
    const event = fc.oneof(
      { weight: 6, arbitrary: fc.tuple(fc.constant('request' as const), activity, fc.boolean()) },
      {
        weight: 8,
        arbitrary: fc.tuple(fc.constant('claim' as const), worker, fc.integer({ min: 1, max: 3 })),
      },
      { weight: 4, arbitrary: fc.tuple(fc.constant('claim together' as const), worker, worker) },
      { weight: 5, arbitrary: fc.tuple(fc.constant('claim alone' as const), worker, worker) },
      // Any past claim, so that many of them are no longer valid.
      { weight: 5, arbitrary: fc.tuple(fc.constant('start' as const), which, worker) },
      { weight: 8, arbitrary: fc.tuple(fc.constant('start newest' as const), which, worker) },
      { weight: 6, arbitrary: fc.tuple(fc.constant('end' as const), which, how) },
      { weight: 8, arbitrary: fc.tuple(fc.constant('end newest' as const), which, how) },
      { weight: 3, arbitrary: fc.tuple(fc.constant('skip' as const), which, worker) },
      { weight: 3, arbitrary: fc.tuple(fc.constant('release' as const), which, worker) },
      { weight: 4, arbitrary: fc.tuple(fc.constant('renew' as const), which, worker) },
      // In seconds: within a lease, beyond it, and beyond a retry.
      { weight: 8, arbitrary: fc.tuple(fc.constant('pause' as const), fc.constantFrom(10, 35, 70), worker) },
      { weight: 5, arbitrary: fc.tuple(fc.constant('sweep' as const), worker, worker) },
      { weight: 2, arbitrary: fc.tuple(fc.constant('sweep together' as const), worker, worker) },
      // The same worker claims again, so that the name of the worker alone does not identify a run.
      { weight: 5, arbitrary: fc.tuple(fc.constant('sleep' as const), worker, worker) },
      { weight: 2, arbitrary: fc.tuple(fc.constant('cancel' as const), activity, worker) },
      // The worker loses its claims and comes back under another name.
      { weight: 2, arbitrary: fc.tuple(fc.constant('crash' as const), worker, worker) },
      // The processor's inputs change.
      { weight: 4, arbitrary: fc.tuple(fc.constant('change' as const), activity, worker) },
      { weight: 3, arbitrary: fc.tuple(fc.constant('purge' as const), activity, worker) },
      // The process' clock jumps, in minutes.
      { weight: 3, arbitrary: fc.tuple(fc.constant('jump' as const), fc.constantFrom(-10, 10), worker) },
    );
    await fc.assert(
      fc.asyncProperty(fc.array(event, { minLength: 10, maxLength: 60, size: 'max' }), async (events) => {
        const databases = pools.map(({ database }) => database);
        const run = await Sequence.begin(open.database, databases, athleteId);
        for (const one of events) {
          if (one[0] === 'request') await run.request(one[1], one[2]);
          else if (one[0] === 'claim') await run.claim(one[1], one[2]);
          else if (one[0] === 'claim together') await run.claimTogether();
          else if (one[0] === 'claim alone') await run.claimAlone(one[1]);
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
          else if (one[0] === 'change') await run.change(one[1]);
          else if (one[0] === 'purge') await run.purge();
          else run.jump(one[1]);
          await run.compare();
        }
      }),
      modelRuns(60),
    );
  });
});

/** Applies one sequence of events to the database and to the model. */
class Sequence {
  held: PastClaim[] = [];
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

  any(which: number): PastClaim | undefined {
    return this.held[which % this.held.length];
  }

  async request(activity: number, force: boolean): Promise<void> {
    const { automatic, forced } = requestsOf(this.jobs, this.athleteId);
    const enqueued = await (force ? forced : automatic)(this.ids[activity]!);
    expect(enqueued.kind).toBe(this.model.request(activity, force));
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

  async claimAlone(worker: number): Promise<void> {
    const owner = this.owners[worker]!;
    const claim = await this.workers[worker]!.claimAlone(owner, LEASE_MS);
    expect(claim && this.ids.indexOf(claim.activity_id)).toBe(this.model.nextAlone()?.activity);
    if (claim) this.take(owner, [claim]);
  }

  async start(held: PastClaim | undefined): Promise<void> {
    if (!held) return;
    const begun = await this.workers[0]!.start(held.owner, [held.claim]);
    expect(begun.length === 1).toBe(this.model.start(held));
    for (const { activity_id, is_processed } of begun)
      expect(is_processed).toBe(this.model.isProcessed(this.ids.indexOf(activity_id)));
  }

  async end(held: PastClaim | undefined, how: OutcomeName): Promise<void> {
    if (!held) return;
    const isOurs = await complete(this.workers[1]!, held.owner, held.claim, OUTCOMES[how]);
    expect(isOurs).toBe(this.model.end(held, how));
  }

  async skip(held: PastClaim | undefined): Promise<void> {
    if (!held) return;
    expect(await this.workers[1]!.skip(held.owner, held.claim)).toBe(this.model.skip(held));
  }

  async release(held: PastClaim | undefined): Promise<void> {
    if (!held) return;
    await this.workers[2]!.release(held.owner, [held.claim]);
    this.model.release(held);
  }

  async renew(held: PastClaim | undefined): Promise<void> {
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
    await this.claimAlone(sleeper);
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

  async change(activity: number): Promise<void> {
    await this.sql.query('update activity set input_revision = input_revision + 1 where id = $1', [
      this.ids[activity],
    ]);
    this.model.revisions[activity]! += 1;
  }

  async purge(): Promise<void> {
    expect(await this.jobs.purge(0)).toBe(this.model.purge());
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
        lost: job.lost_workers,
        force: job.force_update,
        owner: job.lease_owner,
        waits: job.waits_for !== null,
      }));
      expect(jobs).toEqual(this.model.jobsOf(activity));
      expect((await runsOf(this.sql, id)).map(({ status }) => status)).toEqual(this.model.runsOf(activity));
      expect(await isProcessed(this.sql, id)).toBe(this.model.shown.has(activity));
      // The run whose result is shown is never purged.
      const { result } = await this.jobs.stateOf(this.athleteId, id);
      expect(result !== null).toBe(this.model.shown.has(activity));
      // The activity's state shows a claim only once its run has begun.
      const state = this.model.newest(activity)?.status;
      if (state !== 'claimed') expect(await stateOf(this.sql, id)).toBe(this.model.states[activity]);
    }
    expect((await rejectedWrites()) - this.rejectedBefore).toBe(this.model.rejected);
  }

  private take(owner: string, claims: readonly RunClaim[]): void {
    for (const claim of claims) {
      this.held.push({ claim, owner });
      this.model.claimed(this.ids.indexOf(claim.activity_id), claim.run_id, owner);
    }
  }

  private numbersOf(claims: readonly RunClaim[]): number[] {
    return claims.map(({ activity_id }) => this.ids.indexOf(activity_id)).sort();
  }
}

interface ModelRun {
  readonly job: ModelJob;
  status: JobStatus;
}

interface ModelJob {
  readonly activity: number;
  readonly number: number;
  status: JobStatus;
  attempts: number;
  most: number;
  lost: number;
  force: boolean;
  priority: number;
  availableAt: number;
  leaseUntil: number;
  owner: string | null;
  run: string | null;
  begun: ModelRun | undefined;
  /** The activity's revision when the run `begun` began. */
  revision: number;
  waits: boolean;
  /** The run that ended by waiting; the next run is the same attempt and replaces it. */
  waited: ModelRun | undefined;
  isSuperseded: boolean;
}

/** The specification of jobs, runs and states; times in seconds. */
class Model {
  second = 0;
  rejected = 0;
  private made = 0;
  /** The job whose result is shown for an activity, and the revision that its run read. */
  readonly shown = new Map<number, { readonly job: ModelJob; readonly revision: number }>();
  readonly revisions = Array.from({ length: ACTIVITIES }, () => 0);
  readonly states: Array<JobStatus | undefined> = Array.from({ length: ACTIVITIES }, () => undefined);
  private jobs: ModelJob[] = [];
  private runs: ModelRun[] = [];

  isProcessed(activity: number): boolean {
    return (this.shown.get(activity)?.revision ?? -1) >= this.revisions[activity]!;
  }

  runsOf(activity: number): JobStatus[] {
    return this.runs.filter(({ job }) => job.activity === activity).map(({ status }) => status);
  }

  newest(activity: number): ModelJob | undefined {
    return this.jobs.filter((job) => job.activity === activity).at(-1);
  }

  jobsOf(activity: number) {
    const own = this.jobs.filter((job) => job.activity === activity);
    return own.map(({ status, attempts, lost, force, owner, waits }) => ({
      status,
      attempts,
      lost,
      force,
      owner,
      waits,
    }));
  }

  request(activity: number, force: boolean): string {
    if (!force && this.isProcessed(activity)) return 'already_processed';
    const priority = force ? 10 : 0;
    const unfinished = this.unfinished(activity);
    if (unfinished) {
      unfinished.force ||= force;
      unfinished.priority = Math.max(unfinished.priority, priority);
      if (force || unfinished.waits) unfinished.availableAt = Math.min(unfinished.availableAt, this.second);
      unfinished.waits = false;
      return 'joined';
    }
    for (const job of this.jobs)
      if (job.activity === activity && this.shown.get(activity)?.job !== job) job.isSuperseded = true;
    const fresh = {
      status: 'queued',
      attempts: 0,
      most: MOST_ATTEMPTS,
      lost: 0,
      leaseUntil: 0,
      owner: null,
      run: null,
      begun: undefined,
      revision: 0,
      waits: false,
      waited: undefined,
      isSuperseded: false,
    } as const;
    this.jobs.push({
      ...fresh,
      activity,
      force,
      priority,
      number: (this.made += 1),
      availableAt: this.second,
    });
    this.states[activity] = 'queued';
    return 'queued';
  }

  next(most: number): ModelJob[] {
    return this.claimable()
      .filter(({ lost }) => lost === 0)
      .slice(0, most);
  }

  nextAlone(): ModelJob | undefined {
    return this.claimable().find(({ lost }) => lost > 0);
  }

  private claimable(): ModelJob[] {
    return this.jobs
      .filter(({ status }) => status === 'queued' || status === 'retry_wait')
      .filter(({ availableAt }) => availableAt <= this.second)
      .sort((a, b) => b.priority - a.priority || a.number - b.number);
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
      begun: undefined,
      waits: false,
    });
  }

  start(held: PastClaim): boolean {
    const job = this.of(held, ['claimed']);
    if (!job) return this.reject();
    this.runs = this.runs.filter((run) => run !== job.waited);
    job.waited = undefined;
    job.begun = { job, status: 'running' };
    this.runs.push(job.begun);
    job.revision = this.revisions[job.activity]!;
    this.move(job, 'running');
    return true;
  }

  end(held: PastClaim, how: OutcomeName): boolean {
    const job = this.of(held, ['running']);
    if (!job) return this.reject();
    job.availableAt = this.second + RETRY_S;
    if (how === 'wait') {
      this.endRun(job, 'retry_wait');
      this.move(job, 'retry_wait');
      job.attempts -= 1;
      job.waits = true;
      job.waited = job.begun;
      return true;
    }
    if (how === 'succeed') this.shown.set(job.activity, { job, revision: job.revision });
    const isLast = job.attempts >= job.most;
    const retried = isLast ? 'failed_permanent' : 'retry_wait';
    const status = { succeed: 'succeeded', fail: 'failed_permanent', retry: retried } as const;
    this.endRun(job, status[how]);
    this.move(job, status[how]);
    return true;
  }

  skip(held: PastClaim): boolean {
    const job = this.of(held, ['running']);
    if (!job || job.force) return false;
    this.endRun(job, 'succeeded');
    this.move(job, 'succeeded');
    return true;
  }

  release(held: PastClaim): void {
    const job = this.of(held, ['claimed']);
    if (!job) return;
    this.giveBack(job);
  }

  renew(held: PastClaim): boolean {
    const job = this.of(held, ['claimed', 'running']);
    if (job) job.leaseUntil = this.second + LEASE_S;
    return job !== undefined;
  }

  sweep(): number[] {
    const expired = this.jobs.filter(({ owner, leaseUntil }) => owner !== null && leaseUntil <= this.second);
    for (const job of expired) {
      job.availableAt = this.second;
      if (job.status === 'claimed') this.giveBack(job);
      else this.loseWorker(job);
    }
    return expired.map(({ activity }) => activity);
  }

  /** The job had not begun, so the activity's state does not show the claim. */
  private giveBack(job: ModelJob): void {
    const before = this.states[job.activity];
    job.attempts -= 1;
    this.move(job, 'queued');
    this.states[job.activity] = before;
  }

  private loseWorker(job: ModelJob): void {
    job.lost += 1;
    this.endRun(job, 'failed_permanent');
    const isGivenUp = job.attempts >= job.most && job.lost >= MOST_LOST_WORKERS;
    if (!isGivenUp) job.most = Math.max(job.most, job.attempts + 1);
    this.move(job, isGivenUp ? 'failed_permanent' : 'queued');
  }

  cancel(activity: number): boolean {
    const job = this.unfinished(activity);
    if (!job) return false;
    if (job.status === 'running') this.endRun(job, 'cancelled');
    job.waits = false;
    this.move(job, 'cancelled');
    return true;
  }

  purge(): number {
    const before = this.jobs.length;
    this.jobs = this.jobs.filter(({ isSuperseded }) => !isSuperseded);
    this.runs = this.runs.filter(({ job }) => !job.isSuperseded);
    return before - this.jobs.length;
  }

  private reject(): false {
    this.rejected += 1;
    return false;
  }

  private of({ claim, owner }: PastClaim, statuses: readonly JobStatus[]): ModelJob | undefined {
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
    if (job.begun) job.begun.status = status;
  }

  private move(job: ModelJob, status: JobStatus): void {
    job.status = status;
    if (status !== 'running' && status !== 'claimed') job.owner = null;
    this.states[job.activity] = status;
  }
}
