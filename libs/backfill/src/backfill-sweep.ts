import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { Sweeps } from '#platform';
import { StreamFetches } from '#streams';
import { BackfillTicks } from './backfill-ticks.js';
import { BackfillSwitch } from './backfill.js';

const EVERY_MS = 60_000;

/**
 * Every minute schedules a tick for each athlete and vendor with due streams and no tick. So new and deferred streams are fetched, also after
 * Redis lost a tick or a part of it. A run ends at the first failure of Redis; the next run is a minute later.
 */
@Injectable()
export class BackfillSweep implements OnApplicationBootstrap {
  constructor(
    private readonly fetches: StreamFetches,
    private readonly ticks: BackfillTicks,
    private readonly backfillSwitch: BackfillSwitch,
    private readonly sweeps: Sweeps,
  ) {}

  onApplicationBootstrap(): void {
    this.sweeps.every('backfill', EVERY_MS, () => this.runOnce());
  }

  async runOnce(): Promise<void> {
    if (await this.backfillSwitch.isPaused()) return;
    await this.ticks.scheduleMissing(await this.fetches.athletesWithDue());
  }
}
