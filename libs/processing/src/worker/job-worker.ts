import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { setTimeout as pause } from 'node:timers/promises';
import { describeSpan, inSpan, type Logger, Loop, requestIdField, traceOf } from '#platform';
import { type RunClaim, type Run } from '../lifecycle/run.js';
import { type Runs } from '../lifecycle/runs.js';
import { type Processor } from '../processor.js';
import { type ConfigSnapshots } from '../settings/config-snapshots.js';
import { Completions } from './completions.js';
import { execute, WorkerStopping } from './execute.js';
import { type JobNotifications } from './job-notifications.js';
import { Leases } from './leases.js';
import { ClaimWindow } from './claim-window.js';
import { type WorkerSettings } from './worker-settings.js';

const SOURCE = 'worker';
const POLLS_PER_FULL_SCAN = 5;

/**
 * Claims due jobs up to its concurrency and runs them. Any number of workers share the jobs. A run happens at least once: when a
 * worker loses its lease, another worker may run the same job while the first processor still works. The fence rejects the result
 * of the first.
 *
 * A job that has lost a worker runs alone. This worker claims no more jobs, waits until its other jobs end, and then begins the job.
 * If this worker dies as well, no other job loses an attempt.
 */
export class JobWorker {
  /** Unique, also across restarts of this process. */
  readonly owner = `${hostname()}:${process.pid}:${randomUUID()}`;
  private readonly running = new Set<Promise<void>>();
  private readonly claimWindow: ClaimWindow;
  private readonly leases: Leases;
  private readonly completions: Completions;
  private readonly loop: Loop;
  private isStopping = false;
  private mayBeMore = false;
  private hasSnapshot = false;
  private isAlone = false;
  private triedAloneAtMs = -Infinity;

  constructor(
    private readonly runs: Runs,
    private readonly snapshots: ConfigSnapshots,
    private readonly notifications: JobNotifications,
    private readonly processor: Processor,
    private readonly settings: WorkerSettings,
    private readonly logger: Logger,
  ) {
    const { leaseMs, pollMs } = settings;
    this.claimWindow = new ClaimWindow(
      (most, sinceMs) => runs.claim(this.owner, most, leaseMs, sinceMs),
      POLLS_PER_FULL_SCAN * pollMs,
    );
    this.leases = new Leases(leaseMs, (claims) => runs.renew(this.owner, claims, leaseMs), logger);
    this.completions = new Completions(this.owner, runs);
    this.loop = new Loop('jobs', () => this.runOnce(), logger);
  }

  start(): void {
    this.leases.start();
    this.notifications.start(() => this.loop.wake());
    this.loop.start();
  }

  /** Releases claimed jobs that have not begun. Running jobs finish, or fail after `stopWithinMs` and are retried at once. */
  async stop(): Promise<void> {
    this.isStopping = true;
    await this.notifications.stop();
    await this.loop.stop();
    await this.waitForRuns();
    this.leases.abortAll(new WorkerStopping());
    await Promise.all(this.running);
    this.leases.stop();
  }

  /** Claims once; returns the ms until the next claim. */
  async runOnce(): Promise<number> {
    await this.snapshotSettings();
    const free = this.settings.concurrency - this.running.size;
    if (free <= 0 || this.isAlone) return this.settings.pollMs;
    // Read before the claim is sent: the database starts the leases later.
    const claimedAtMs = performance.now();
    if (await this.claimAlone(claimedAtMs)) return this.settings.pollMs;
    const claims = await this.claimWindow.take(free);
    this.mayBeMore = claims.length === free;
    if (claims.length > 0) await this.begin(claims, claimedAtMs);
    return this.settings.pollMs;
  }

  private async begin(claims: readonly RunClaim[], claimedAtMs: number): Promise<void> {
    if (this.isStopping) return this.runs.release(this.owner, claims);
    for (const run of await this.runs.start(this.owner, claims)) {
      const work = this.runJob(run, this.leases.hold(run, claimedAtMs)).finally(() =>
        this.onRunFinished(work),
      );
      this.running.add(work);
    }
  }

  /** Claims a job that has lost a worker. Tried once per poll only, since such jobs are rare. */
  private async claimAlone(claimedAtMs: number): Promise<boolean> {
    if (claimedAtMs - this.triedAloneAtMs < this.settings.pollMs) return false;
    this.triedAloneAtMs = claimedAtMs;
    const claim = await this.runs.claimAlone(this.owner, this.settings.leaseMs);
    if (!claim) return false;
    this.isAlone = true;
    const work = this.runAlone(claim, claimedAtMs).finally(() => {
      this.running.delete(work);
      this.isAlone = false;
      // Another such job may be due.
      this.triedAloneAtMs = -Infinity;
      this.loop.wake();
    });
    this.running.add(work);
    return true;
  }

  /** Waits for the worker's other runs, then runs the job. During the wait the job's lease is renewed, and a crash costs no attempt. */
  private async runAlone(claim: RunClaim, claimedAtMs: number): Promise<void> {
    const { job_id, run_id, activity_id } = claim;
    const others = [...this.running];
    const lease = this.leases.hold(claim, claimedAtMs);
    this.logger.info(
      { job_id, run_id, activity_id, others: others.length },
      'job that lost its worker waits to run alone',
    );
    try {
      await Promise.all(others);
      if (this.isStopping) return await this.runs.release(this.owner, [claim]);
      const [run] = await this.runs.start(this.owner, [claim]);
      if (run) await this.runJob(run, lease);
    } catch (err) {
      this.logger.error(
        { err, job_id, run_id },
        'run not ended: its job is taken back when the lease expires',
      );
    } finally {
      this.leases.drop(claim);
    }
  }

  /** Claims again at once if the last claim filled every free slot: more jobs may be due. */
  private onRunFinished(work: Promise<void>): void {
    this.running.delete(work);
    if (this.mayBeMore) this.loop.wake();
  }

  /** Runs in the trace of the request that asked for the job. */
  private runJob(run: Run, lease: AbortSignal): Promise<void> {
    return inSpan('job run', 'CONSUMER', () => this.runInSpan(run, lease), traceOf(run));
  }

  private async runInSpan(run: Run, lease: AbortSignal): Promise<void> {
    const beganAtMs = performance.now();
    const log = (ended: string, error?: string) => {
      describeSpan({ 'job.result': ended });
      this.logger.info(
        {
          job_id: run.job_id,
          run_id: run.run_id,
          activity_id: run.activity_id,
          attempt: run.attempt_count,
          ...requestIdField(run.request_id),
          ended,
          error,
          duration_ms: Math.round(performance.now() - beganAtMs),
        },
        'run ended',
      );
    };
    try {
      if (await this.isSkipped(run)) return log('skipped');
      const outcome = await execute(this.processor, run, lease, this.settings);
      if (!outcome) return log('lost');
      const isOurs = await this.completions.complete({ claim: run, outcome });
      log(isOurs ? outcome.kind : 'fenced', 'error' in outcome ? outcome.error : undefined);
    } catch (err) {
      this.logger.error(
        { err, job_id: run.job_id, run_id: run.run_id },
        'run not ended: its job is taken back when the lease expires',
      );
    } finally {
      this.leases.drop(run);
    }
  }

  private async isSkipped(run: Run): Promise<boolean> {
    return run.is_processed && !run.force_update && (await this.runs.skip(this.owner, run));
  }

  private async waitForRuns(): Promise<void> {
    const allEnded = new AbortController();
    const timeout = pause(this.settings.stopWithinMs, undefined, { signal: allEnded.signal }).catch(
      () => undefined,
    );
    await Promise.race([Promise.all(this.running), timeout]);
    allEnded.abort();
  }

  /** Runs once per process. If each claim recorded the settings, two versions side by side would record a change each time. */
  private async snapshotSettings(): Promise<void> {
    if (this.hasSnapshot) return;
    const { concurrency, leaseMs, deadlineMs, pollMs } = this.settings;
    const settings = { processor: this.processor.name, concurrency, leaseMs, deadlineMs, pollMs };
    await this.snapshots.take(SOURCE, settings);
    this.hasSnapshot = true;
  }
}
