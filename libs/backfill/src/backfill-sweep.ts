import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { Sweeps } from '#platform';
import { StreamFetches } from '#streams';
import { BackfillTicks } from './backfill-ticks.js';
import { BackfillSwitch } from './backfill.js';

const EVERY_MS = 60_000;

/** Every minute schedules a tick for each athlete and vendor with due streams. So new and deferred streams are fetched, also after a lost tick. */
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
    for (const owner of await this.fetches.athletesWithDue())
      // Stop at the first failure: without Redis each attempt takes a second.
      if (!(await this.ticks.schedule(owner))) return;
  }
}
