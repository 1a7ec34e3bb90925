import { Inject, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import {
  CONFIG,
  type Config,
  Database,
  LOGGER,
  type Logger,
  Sweeps,
  TIME_SCALE,
  type TimeScale,
} from '#platform';

const HOUR_MS = 3_600_000;
const DAY_MS = 86_400_000;
const AT_ONCE = 1_000;

/** Strava's cache rule, for operators who must honour it: whole activities go, counted from when they were fetched last. */
@Injectable()
export class Retention implements OnApplicationBootstrap {
  constructor(
    private readonly database: Database,
    private readonly sweeps: Sweeps,
    @Inject(CONFIG) private readonly config: Config,
    @Inject(TIME_SCALE) private readonly scale: TimeScale,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  onApplicationBootstrap(): void {
    if (this.config.strava.retentionDays !== undefined)
      this.sweeps.every('retention', HOUR_MS, () => this.runOnce());
  }

  async runOnce(): Promise<void> {
    const keptMs = this.scale.wait((this.config.strava.retentionDays ?? Infinity) * DAY_MS);
    const statement = `
      delete from activity
      where id in (
        select id
        from activity
        where provider = 'strava' and coalesce(detail_stored_at, created_at) < clock_timestamp() - $1 * interval '1 millisecond'
        limit $2
      )`;
    for (;;) {
      const { count } = await this.database.query(statement, [keptMs, AT_ONCE]);
      if (count > 0) this.logger.info({ activities: count }, 'activities past their retention deleted');
      if (count < AT_ONCE) return;
    }
  }
}
