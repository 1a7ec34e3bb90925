import { Inject, Injectable } from '@nestjs/common';
import { Database, LOGGER, type Logger, TIME_SCALE, type TimeScale } from '#platform';
import { type BatchOutcome } from './import-batch.js';
import { ImportChanges } from './import-changes.js';
import { ImportForecast } from './import-forecast.js';
import { type ImportClaim } from './import-job.js';
import { ImportJobs, type Suspension } from './import-jobs.js';
import { ImportTicks } from './import-ticks.js';

const BUDGET_UNAVAILABLE_PAUSE_MS = 15_000;
const FIRST_PAUSE_MS = 60_000;
const LONGEST_PAUSE_MS = 900_000;
const MOST_ACCIDENTS = 5;

/**
 * Writes how a batch of an import ended and queues a tick for the next batch. If the tick is lost, the sweep queues another at most
 * 30 s later.
 *
 * | outcome in a row                 | 1     | 2      | 3      | 4      | 5 and more                       |
 * | -------------------------------- | ----- | ------ | ------ | ------ | -------------------------------- |
 * | outage: pause                    | 1 min | 2 min  | 4 min  | 8 min  | 15 min each, without end         |
 * | outage: since the first          | 1 min | 3 min  | 7 min  | 15 min | 30 min …                         |
 * | unexpected error: pause          | 1 min | 2 min  | 4 min  | 8 min  | none: the import fails           |
 * | budget unavailable               | 15 s each, without end                                               |
 * | notNow                           | as long as the vendor's window                                       |
 */
@Injectable()
export class ImportSettlement {
  constructor(
    private readonly jobs: ImportJobs,
    private readonly ticks: ImportTicks,
    private readonly changes: ImportChanges,
    private readonly forecast: ImportForecast,
    private readonly database: Database,
    @Inject(TIME_SCALE) private readonly scale: TimeScale,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  /** False: the claim is over. */
  async settle(claim: ImportClaim, outcome: BatchOutcome): Promise<boolean> {
    switch (outcome.kind) {
      case 'over':
        return true;
      case 'more':
        return this.continue(claim);
      case 'notNow':
        return this.suspend(claim, { status: 'rate_limited', forMs: outcome.retryAfterMs });
      case 'budgetUnavailable':
        return this.suspend(claim, {
          forMs: this.scale.wait(BUDGET_UNAVAILABLE_PAUSE_MS),
          error: 'Rate-limit state is unavailable',
        });
      case 'waiting':
        return this.suspend(claim, { forMs: outcome.forMs });
      case 'outage': {
        const failures = claim.failures + 1;
        return this.suspend(claim, {
          forMs: this.pauseAfter(claim.failures),
          error: outcome.error,
          failures,
        });
      }
      case 'failed':
        return this.fail(claim, outcome.error);
      case 'accident':
        return this.afterAccident(claim, outcome.error);
    }
  }

  /** The fifth unexpected error in a row fails the import, so that an operator looks at it. */
  private async afterAccident(claim: ImportClaim, error: string): Promise<boolean> {
    const accidents = claim.accidents + 1;
    if (accidents >= MOST_ACCIDENTS) return this.fail(claim, error);
    return this.suspend(claim, { forMs: this.pauseAfter(claim.accidents), error, accidents });
  }

  private async continue(claim: ImportClaim): Promise<boolean> {
    if (!(await this.jobs.release(claim))) return false;
    await this.ticks.next(claim.id, claim.fence);
    return true;
  }

  private async fail(claim: ImportClaim, error: string): Promise<boolean> {
    const job = await this.database.transaction(async (sql) => {
      const failed = await this.jobs.finish(sql, claim, { status: 'failed', error });
      if (failed) await this.changes.announce(sql, failed);
      return failed;
    });
    if (job) this.logger.info({ import_id: claim.id, error }, 'import failed');
    return job !== undefined;
  }

  private async suspend(claim: ImportClaim, change: Partial<Suspension>): Promise<boolean> {
    const { failures, accidents } = claim;
    const suspension = { status: 'queued', forMs: 0, error: null, failures, accidents, ...change } as const;
    const forMs = Math.max(0, suspension.forMs);
    const eta = suspension.status === 'rate_limited' ? await this.forecast.etaOf(claim) : null;
    const job = await this.database.transaction(async (sql) => {
      const suspended = await this.jobs.suspend(sql, claim, { ...suspension, forMs });
      if (suspended) await this.changes.announce(sql, suspended, eta);
      return suspended;
    });
    if (job?.retry_after) await this.ticks.later(claim.id, claim.fence, job.retry_after, forMs);
    return job !== undefined;
  }

  private pauseAfter(pauses: number): number {
    return this.scale.wait(Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** pauses));
  }
}
