import { Inject, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { Revocations } from '#connections';
import { Sweeps } from '#platform';
import { OURA_BUDGET, STRAVA_BUDGET, type VendorBudget, WHOOP_BUDGET } from '#rate-limit';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/** What nobody asks for and has to be done. */
@Injectable()
export class Housekeeping implements OnApplicationBootstrap {
  constructor(
    private readonly sweeps: Sweeps,
    private readonly revocations: Revocations,
    @Inject(STRAVA_BUDGET) private readonly strava: VendorBudget,
    @Inject(OURA_BUDGET) private readonly oura: VendorBudget,
    @Inject(WHOOP_BUDGET) private readonly whoop: VendorBudget,
  ) {}

  onApplicationBootstrap(): void {
    this.sweeps.every('revocations', MINUTE_MS, () => this.revocations.runOnce());
    this.sweeps.every('ledger', HOUR_MS, () =>
      Promise.all([this.strava, this.oura, this.whoop].map((budget) => budget.purge())),
    );
  }
}
