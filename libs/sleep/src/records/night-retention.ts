import { Inject, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { type Config, CONFIG, Database, inBatches, loadSql, LOGGER, type Logger, Sweeps } from '#platform';
import { lockNights } from '../normalise/sleep-store.js';

const purgeNights = loadSql(import.meta.url, './sql/purge-nights.sql');

const HOUR_MS = 3_600_000;
// Workers that derive nights wait until a batch is committed.
const AT_ONCE = 1_000;

/**
 * Deletes nights and their sessions more than SLEEP_RETENTION_DAYS after their date, every hour. Without the variable nights are kept.
 * `UnpublishedNights` publishes the removals. The days are calendar days, so TIME_SCALE does not divide them.
 *
 * An older night that an app or a vendor sends afterwards is stored, and deleted within the hour.
 */
@Injectable()
export class NightRetention implements OnApplicationBootstrap {
  constructor(
    private readonly database: Database,
    private readonly sweeps: Sweeps,
    @Inject(CONFIG) private readonly config: Pick<Config, 'sleep'>,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  onApplicationBootstrap(): void {
    if (this.config.sleep.retentionDays !== undefined)
      this.sweeps.every('past nights', HOUR_MS, () => this.runOnce());
  }

  async runOnce(): Promise<void> {
    const { retentionDays } = this.config.sleep;
    if (retentionDays === undefined) return;
    const sessions = await inBatches(AT_ONCE, (limit) =>
      this.database.transaction(async (sql) => {
        await lockNights(sql);
        return (await sql.query(purgeNights, [retentionDays, limit])).count;
      }),
    );
    if (sessions > 0) this.logger.info({ sessions }, 'nights past their retention deleted');
  }
}
