import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { Sweeps } from '#platform';
import { ImportJobs } from './import-jobs.js';
import { ImportTicks } from './import-ticks.js';

const EVERY_MS = 30_000;
const AT_ONCE = 100;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/**
 * Every 30 s creates the first import of connections of the last day that have none. Also queues a tick for each due import without one: Redis
 * may have lost the tick, or a worker may have died during a batch. Every hour looks at all connections, which takes 0.2 s for 100,000 athletes.
 * Each pass handles at most 100 connections and 100 imports.
 */
@Injectable()
export class ImportSweep implements OnApplicationBootstrap {
  constructor(
    private readonly jobs: ImportJobs,
    private readonly ticks: ImportTicks,
    private readonly sweeps: Sweeps,
  ) {}

  onApplicationBootstrap(): void {
    this.sweeps.every('imports', EVERY_MS, () => this.runOnce());
    this.sweeps.every('missing imports', HOUR_MS, () => this.createMissing());
  }

  async runOnce(): Promise<void> {
    await this.createMissing(DAY_MS);
    await this.ticks.missing(await this.jobs.due(AT_ONCE));
  }

  private async createMissing(withinMs?: number): Promise<void> {
    for (const owner of await this.jobs.neverImported(AT_ONCE, withinMs))
      await this.jobs.createOrFind(owner, 'full', null);
  }
}
