import { Injectable } from '@nestjs/common';
import { BackfillBell } from './backfill-bell.js';
import { BackfillSwitch } from './backfill-switch.js';

/** What others ask of the backfill. It runs by itself; this is for those who cannot wait for its sweep. */
@Injectable()
export class Backfill {
  constructor(
    private readonly bell: BackfillBell,
    private readonly backfillSwitch: BackfillSwitch,
  ) {}

  /** False: Redis is away, and the sweep will have to. */
  begin(athleteId: string): Promise<boolean> {
    return this.bell.ringNow(athleteId);
  }

  pause(): Promise<void> {
    return this.backfillSwitch.turn(true);
  }

  /** The sweep rings for whoever has something due. */
  resume(): Promise<void> {
    return this.backfillSwitch.turn(false);
  }
}
