import { Inject, Injectable } from '@nestjs/common';
import { isRedisAway, LOGGER, type Logger, OneAtATime, TIME_SCALE, type TimeScale } from '#platform';
import { Budgets, eta } from '#rate-limit';
import { type VendorId } from '#vendors';
import { type ImportJob } from './import-job.js';
import { ImportJobs } from './import-jobs.js';

// Each follower of an import causes forecasts, and the query counts the rows of all athletes. So its result is reused for this long.
const KNOWN_FOR_MS = 2_000;

interface KnownCalls {
  readonly untilMs: number;
  readonly calls: ReadonlyMap<string, number>;
}

/**
 * Estimates the end of an import from the vendor's budget and the calls that all imports from that vendor still need. Later imports
 * delay this end.
 */
@Injectable()
export class ImportForecast {
  private readonly known = new Map<VendorId, KnownCalls>();
  private readonly reading = new OneAtATime<ReadonlyMap<string, number>>();

  constructor(
    private readonly jobs: ImportJobs,
    private readonly budgets: Budgets,
    @Inject(TIME_SCALE) private readonly scale: TimeScale,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  /** Null while the history is being listed: its length is not known yet. Null also while Redis is away. */
  async etaOf(job: Pick<ImportJob, 'athlete_id' | 'provider' | 'sync_cursor'>): Promise<Date | null> {
    if (job.sync_cursor.phase === 'summaries') return null;
    const pending = await this.pendingCalls(job.provider);
    const calls = pending.get(job.athlete_id) ?? 0;
    // Imports take turns. Until this import is done, each other import makes as many calls as this import, or fewer if it needs fewer.
    const all = [...pending.values()].reduce((sum, each) => sum + Math.min(each, calls), 0);
    try {
      const budget = this.budgets.of(job.provider);
      const gauges = await budget.gauges();
      const { policy } = budget;
      const outlook = { policy, gauges, class: 'import', scale: this.scale.factor } as const;
      return eta(all, new Date(budget.nowMs()), outlook) ?? null;
    } catch (err) {
      if (!isRedisAway(err)) throw err;
      this.logger.debug({ err }, 'no import forecast: the budget cannot be read');
      return null;
    }
  }

  private async pendingCalls(provider: VendorId): Promise<ReadonlyMap<string, number>> {
    const known = this.known.get(provider);
    if (known && performance.now() < known.untilMs) return known.calls;
    const calls = await this.reading.run(provider, () => this.jobs.pendingCalls(provider));
    this.known.set(provider, { calls, untilMs: performance.now() + KNOWN_FOR_MS });
    return calls;
  }
}
