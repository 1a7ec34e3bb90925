import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { Sweeps } from '#platform';
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
  ) {}

  onApplicationBootstrap(): void {
    observeImports(() => this.jobs.countByStatus());
    this.sweeps.every('imports', EVERY_MS, () => this.runOnce());
  }

  async runOnce(): Promise<void> {
    for (const athleteId of await this.jobs.neverImported(AT_ONCE))
      await this.jobs.createOrFind(athleteId, 'full', null);
    for (const { id, turn } of await this.jobs.due(AT_ONCE)) await this.ticks.next(id, turn);
  }
}
