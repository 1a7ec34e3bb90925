import { Inject, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import {
  type Config,
  CONFIG,
  Database,
  deletePast,
  loadSql,
  Sweeps,
  TIME_SCALE,
  type TimeScale,
} from '#platform';

const purgeChanges = loadSql(import.meta.url, './sql/purge-changes.sql');
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** Deletes the oldest changes after CHANGES_RETENTION_DAYS. A change that is not published, or not planned for webhooks, stays. */
@Injectable()
export class ChangeRetention implements OnApplicationBootstrap {
  constructor(
    private readonly database: Database,
    private readonly sweeps: Sweeps,
    @Inject(CONFIG) private readonly config: Pick<Config, 'changes'>,
    @Inject(TIME_SCALE) private readonly scale: TimeScale,
  ) {}

  onApplicationBootstrap(): void {
    this.sweeps.every('past changes', HOUR_MS, () => this.runOnce());
  }

  /** Returns the number of deleted changes. */
  runOnce(): Promise<number> {
    return deletePast(
      this.database,
      purgeChanges,
      this.scale.wait(this.config.changes.retentionDays * DAY_MS),
    );
  }
}
