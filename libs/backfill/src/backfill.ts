import { Injectable } from '@nestjs/common';
import { StreamFetches } from '#streams';
import { BackfillBell } from './backfill-bell.js';
import { BackfillSwitch } from './backfill-switch.js';

/** What others ask of the backfill. It runs by itself; this is for those who cannot wait for its sweep. */
@Injectable()
export class Backfill {
  constructor(
    private readonly fetches: StreamFetches,
    private readonly bell: BackfillBell,
    private readonly backfillSwitch: BackfillSwitch,
  ) {}

  begin(athleteId: string): Promise<void> {
    return this.bell.ringNow(athleteId);
  }

  pause(): Promise<void> {
    return this.backfillSwitch.turn(true);
  }

  async resume(): Promise<void> {
    await this.backfillSwitch.turn(false);
    for (const athleteId of await this.fetches.athletesWithDue()) await this.bell.ring(athleteId);
  }
}
