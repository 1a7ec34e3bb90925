import { Inject, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { LOGGER, type Logger, Sweeps } from '#platform';
import { Runs } from '../lifecycle/runs.js';

const EVERY_MS = 5_000;

/**
 * Every 5 s takes back at most 500 jobs whose lease has expired, because their worker died or paused for too long. A job that had
 * begun runs alone from then on, and fails for good when it has lost three workers and used its attempts. The old
 * worker may still be running; the fence rejects its writes.
 */
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
