import { Inject, Injectable } from '@nestjs/common';
import { isRedisAway, LOGGER, type Logger, OneAtATime, TIME_SCALE, type TimeScale } from '#platform';
import { eta, STRAVA_BUDGET, stravaPolicy, type VendorBudget } from '#rate-limit';
import { type ImportJob } from './import-job.js';
import { ImportJobs } from './import-jobs.js';

// Everybody who follows an import asks; the answer counts all athletes' rows.
const KNOWN_FOR_MS = 2_000;

/** When an import will be done, by what the budget lets through and by what others wait for. */
@Injectable()
export class ImportForecast {
  private known: { readonly untilMs: number; readonly calls: ReadonlyMap<string, number> } | undefined;
  private readonly asking = new OneAtATime<ReadonlyMap<string, number>>();

  constructor(
    private readonly jobs: ImportJobs,
    @Inject(STRAVA_BUDGET) private readonly budget: VendorBudget,
    @Inject(TIME_SCALE) private readonly scale: TimeScale,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  /** Nothing while the history is still being listed: nobody knows yet how long it is. */
  async etaOf(job: ImportJob): Promise<Date | null> {
    if (job.sync_cursor.phase === 'summaries') return null;
    const pending = await this.pendingCalls();
    const calls = pending.get(job.athlete_id) ?? 0;
    // In turns: until this one is done, each other one has made as many calls, or all of its own.
    const all = [...pending.values()].reduce((sum, each) => sum + Math.min(each, calls), 0);
    try {
      const gauges = await this.budget.gauges();
      const outlook = { policy: stravaPolicy, gauges, class: 'import', scale: this.scale.factor } as const;
      return eta(all, new Date(), outlook) ?? null;
    } catch (err) {
      if (!isRedisAway(err)) throw err;
      this.logger.debug({ err }, 'no forecast without the budget');
      return null;
    }
  }

  private async pendingCalls(): Promise<ReadonlyMap<string, number>> {
    if (this.known && performance.now() < this.known.untilMs) return this.known.calls;
    const calls = await this.asking.run('pending', () => this.jobs.pendingCalls());
    this.known = { calls, untilMs: performance.now() + KNOWN_FOR_MS };
    return calls;
  }
}
