import { Inject, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import {
  CONFIG,
  Database,
  inBatches,
  loadSql,
  LOGGER,
  type Logger,
  Sweeps,
  TIME_SCALE,
  type TimeScale,
} from '#platform';
import { type ProductConfig, settingsOf, VENDOR_IDS } from '#vendors';

const purgeActivities = loadSql(import.meta.url, './sql/purge-activities.sql');

const HOUR_MS = 3_600_000;
const DAY_MS = 86_400_000;
// Each deletion cascades to streams, jobs and runs.
const AT_ONCE = 1_000;

/**
 * Deletes a vendor's activities `retentionDays` after their detail was last stored, for operators who must honour the vendor's cache
 * rule. An activity without a detail is deleted that long after its row was created. Runs every hour, only if a vendor has that setting.
 */
@Injectable()
export class Retention implements OnApplicationBootstrap {
  constructor(
    private readonly database: Database,
    private readonly sweeps: Sweeps,
    @Inject(CONFIG) private readonly config: ProductConfig,
    @Inject(TIME_SCALE) private readonly scale: TimeScale,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  onApplicationBootstrap(): void {
    if (this.kept().length > 0) this.sweeps.every('retention', HOUR_MS, () => this.runOnce());
  }

  async runOnce(): Promise<void> {
    for (const { provider, days } of this.kept()) {
      const keptMs = this.scale.wait(days * DAY_MS);
      const activities = await inBatches(AT_ONCE, async (limit) => {
        const { count } = await this.database.query(purgeActivities, [keptMs, limit, provider]);
        return count;
      });
      if (activities > 0)
        this.logger.info({ provider, activities }, 'activities past their retention deleted');
    }
  }

  /** The vendors whose activities are deleted, with the days for which these are kept. */
  private kept() {
    return VENDOR_IDS.flatMap((provider) => {
      const days = settingsOf(this.config, provider).retentionDays;
      return days === undefined ? [] : [{ provider, days }];
    });
  }
}
