import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { setTimeout as pause } from 'node:timers/promises';
import {
  type BeforeApplicationShutdown,
  Inject,
  Injectable,
  type OnApplicationBootstrap,
} from '@nestjs/common';
import { LOGGER, type Logger, Loop } from '#platform';
import { type Claim, type Run } from '../lifecycle/run.js';
import { Runs } from '../lifecycle/runs.js';
import { PROCESSOR, type Processor } from '../processor.js';
import { ConfigSnapshots } from '../settings/config-snapshots.js';
import { Completions } from './completions.js';
import { execute } from './execute.js';
import { JobNotifications } from './job-notifications.js';
import { Leases } from './leases.js';
import { Looks } from './looks.js';
import { WorkerStopping } from './run-ends.js';
import { WORKER_SETTINGS, type WorkerSettings } from './worker-settings.js';

const SOURCE = 'worker';
const POLLS_PER_LOOK_EVERYWHERE = 5;

/** Claims what is due, as many as it has hands for, and carries it out. Any number of them share the work. */
@Injectable()
export class JobWorker implements OnApplicationBootstrap, BeforeApplicationShutdown {
  /** Nobody else ever has this name, not even this process after a restart. */
  readonly owner = `${hostname()}:${process.pid}:${randomUUID()}`;
  private readonly inHand = new Set<Promise<void>>();
  private readonly looks: Looks;
  private readonly leases: Leases;
  private readonly completions: Completions;
  private readonly loop: Loop;
  private isStopping = false;
  private mayBeMore = false;
  private isSettingsKept = false;

  constructor(
    private readonly runs: Runs,
    private readonly snapshots: ConfigSnapshots,
    private readonly notifications: JobNotifications,
    @Inject(PROCESSOR) private readonly processor: Processor,
    @Inject(WORKER_SETTINGS) private readonly settings: WorkerSettings,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {
    const { leaseMs, pollMs } = settings;
    this.looks = new Looks(
      (most, sinceMs) => runs.claim(this.owner, most, leaseMs, sinceMs),
      POLLS_PER_LOOK_EVERYWHERE * pollMs,
    );
    this.leases = new Leases(leaseMs, (claims) => runs.renew(this.owner, claims, leaseMs), logger);
    this.completions = new Completions(this.owner, runs);
    this.loop = new Loop('jobs', () => this.runOnce(), logger);
  }

  onApplicationBootstrap(): void {
    this.start();
  }

  beforeApplicationShutdown(): Promise<void> {
    return this.stop();
  }

  start(): void {
    this.leases.start();
    this.notifications.start(() => this.loop.wake());
    this.loop.start();
  }

  /** What has not begun goes back; what has is finished, or, where that takes too long, tried again elsewhere. */
  async stop(): Promise<void> {
    this.isStopping = true;
    await this.notifications.stop();
    await this.loop.stop();
    await this.finishInHand();
    this.leases.abortAll(new WorkerStopping());
    await Promise.all(this.inHand);
    this.leases.stop();
  }

  /** One round of claiming; answers after how many ms the next is wanted. */
  async runOnce(): Promise<number> {
    await this.keepSettings();
    const free = this.settings.concurrency - this.inHand.size;
    if (free === 0) return this.settings.pollMs;
    const askedAtMs = performance.now();
    const claims = await this.looks.take(free);
    this.mayBeMore = claims.length === free;
    if (claims.length > 0) await this.begin(claims, askedAtMs);
    return this.settings.pollMs;
  }

  private async begin(claims: readonly Claim[], askedAtMs: number): Promise<void> {
    if (this.isStopping) return this.runs.release(this.owner, claims);
    for (const run of await this.runs.start(this.owner, claims)) {
      const work = this.carryOut(run, askedAtMs).finally(() => this.laidDown(work));
      this.inHand.add(work);
    }
  }

  /** Where the last claim took all it could, another may find more. */
  private laidDown(work: Promise<void>): void {
    this.inHand.delete(work);
    if (this.mayBeMore) this.loop.wake();
  }

  private async carryOut(run: Run, askedAtMs: number): Promise<void> {
    const lease = this.leases.hold(run, askedAtMs);
    const beganAtMs = performance.now();
    const tell = (ended: string, error?: string) =>
      this.logger.info(
        {
          job_id: run.job_id,
          run_id: run.run_id,
          activity_id: run.activity_id,
          attempt: run.attempt_count,
          ended,
          error,
          duration_ms: Math.round(performance.now() - beganAtMs),
        },
        'run ended',
      );
    try {
      if (await this.isSkipped(run)) return tell('skipped');
      const ending = await execute(this.processor, run, lease, this.settings);
      if (!ending) return tell('lost');
      const isOurs = await this.completions.complete({ claim: run, ending });
      tell(isOurs ? ending.kind : 'fenced', 'error' in ending ? ending.error : undefined);
    } catch (err) {
      this.logger.error({ err, job_id: run.job_id, run_id: run.run_id }, 'run left to the sweep');
    } finally {
      this.leases.drop(run);
    }
  }

  private async isSkipped(run: Run): Promise<boolean> {
    return run.is_processed && !run.force_update && (await this.runs.skip(this.owner, run));
  }

  private async finishInHand(): Promise<void> {
    const enough = new AbortController();
    const patience = pause(this.settings.stopWithinMs, undefined, { signal: enough.signal }).catch(
      () => undefined,
    );
    await Promise.race([Promise.all(this.inHand), patience]);
    enough.abort();
  }

  /** Once, not each round: two versions side by side would call each other's a change. */
  private async keepSettings(): Promise<void> {
    if (this.isSettingsKept) return;
    const { concurrency, leaseMs, deadlineMs, pollMs } = this.settings;
    const settings = { processor: this.processor.name, concurrency, leaseMs, deadlineMs, pollMs };
    await this.snapshots.take(SOURCE, settings);
    this.isSettingsKept = true;
  }
}
