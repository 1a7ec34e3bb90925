import { Inject, Injectable } from '@nestjs/common';
import { isRedisAway, LOGGER, type Logger, TIME_SCALE, type TimeScale } from '#platform';
import { eta, STRAVA_BUDGET, stravaPolicy, type VendorBudget } from '#rate-limit';
import { type ImportJob } from './import-job.js';
import { ImportJobs } from './import-jobs.js';

/** When an import will be done, by what the budget lets through and by what others wait for. */
@Injectable()
export class ImportForecast {
  constructor(
    private readonly jobs: ImportJobs,
    @Inject(STRAVA_BUDGET) private readonly budget: VendorBudget,
    @Inject(TIME_SCALE) private readonly scale: TimeScale,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  /** Nothing while the history is still being listed: nobody knows yet how long it is. */
  async etaOf(job: ImportJob): Promise<Date | null> {
    if (job.sync_cursor.phase === 'summaries') return null;
    const calls = await this.jobs.pendingOf(job.athlete_id, job.since);
    const others = await this.jobs.pendingOfOthers(job.athlete_id);
    // In turns: until this one is done, each other one has made as many calls, or all of its own.
    const ahead = others.reduce((sum, pending) => sum + Math.min(pending, calls), 0);
    try {
      const gauges = await this.budget.gauges();
      const outlook = { policy: stravaPolicy, gauges, class: 'import', scale: this.scale.factor } as const;
      return eta(calls + ahead, new Date(), outlook) ?? null;
    } catch (err) {
      if (!isRedisAway(err)) throw err;
      this.logger.debug({ err }, 'no forecast without the budget');
      return null;
    }
  }
}
