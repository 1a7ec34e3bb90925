import { Inject, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { LOGGER, type Logger, Sweeps } from '#platform';
import { Runs } from '../lifecycle/runs.js';

const EVERY_MS = 5_000;

/** Takes back what a worker died over: to be done again, or, where that has happened too often, failed for good. */
@Injectable()
export class ExpiredLeases implements OnApplicationBootstrap {
  constructor(
    private readonly runs: Runs,
    private readonly sweeps: Sweeps,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  onApplicationBootstrap(): void {
    this.sweeps.every('expired job leases', EVERY_MS, () => this.runOnce());
  }

  async runOnce(): Promise<void> {
    for (const expired of await this.runs.requeueExpired())
      this.logger.warn({ ...expired }, 'job lease expired');
  }
}
