import { Inject, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { LOGGER, type Logger, Sweeps } from '#platform';
import { type ImportStatus } from './import-job.js';
import { ImportJobs } from './import-jobs.js';
import { observeImports } from './import-metrics.js';
import { ImportTicks } from './import-ticks.js';

const EVERY_MS = 30_000;
const AT_ONCE = 100;

/** Begins what nobody has begun, and rings again for every import that is due: Redis may have lost the tick, or a worker died in the middle of a turn. */
@Injectable()
export class ImportSweep implements OnApplicationBootstrap {
  constructor(
    private readonly jobs: ImportJobs,
    private readonly ticks: ImportTicks,
    private readonly sweeps: Sweeps,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  onApplicationBootstrap(): void {
    observeImports(() => this.count());
    this.sweeps.every('imports', EVERY_MS, () => this.runOnce());
  }

  async runOnce(): Promise<void> {
    for (const athleteId of await this.jobs.neverImported(AT_ONCE))
      await this.jobs.createOrFind(athleteId, 'full', null);
    for (const { id, turn } of await this.jobs.due(AT_ONCE)) await this.ticks.next(id, turn);
  }

  private async count(): Promise<ReadonlyMap<ImportStatus, number> | undefined> {
    try {
      return await this.jobs.countByStatus();
    } catch (err) {
      this.logger.warn({ err }, 'imports not counted');
      return undefined;
    }
  }
}
