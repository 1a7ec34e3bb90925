import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { Sweeps } from '#platform';
import { StreamFetches } from '#streams';
import { BackfillBell } from './backfill-bell.js';
import { BackfillSwitch } from './backfill-switch.js';

const EVERY_MS = 60_000;

/** Rings for every athlete with something due: new activities, deferred ones whose time has come, ticks that were lost. */
@Injectable()
export class BackfillSweep implements OnApplicationBootstrap {
  constructor(
    private readonly fetches: StreamFetches,
    private readonly bell: BackfillBell,
    private readonly backfillSwitch: BackfillSwitch,
    private readonly sweeps: Sweeps,
  ) {}

  onApplicationBootstrap(): void {
    this.sweeps.every('backfill', EVERY_MS, () => this.runOnce());
  }

  async runOnce(): Promise<void> {
    if (await this.backfillSwitch.isPaused()) return;
    for (const athleteId of await this.fetches.athletesWithDue())
      // Without Redis each would take a second to fail.
      if (!(await this.bell.ring(athleteId))) return;
  }
}
