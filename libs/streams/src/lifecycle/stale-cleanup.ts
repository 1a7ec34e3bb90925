import { Inject, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { Counter } from 'prom-client';
import { leaseLength, LOGGER, type Logger, Sweeps, TIME_SCALE, type TimeScale } from '#platform';
import { LONGEST_CALL_MS } from '#vendors';
import { STALE_AFTER_MS } from './retry-policy.js';
import { StreamFetches } from './stream-fetches.js';

const staleFetches = new Counter({
  name: 'stream_fetches_stale_total',
  help: 'Stream fetches that were ended because their worker had died or hung',
});

const EVERY_MS = 5 * 60_000;
// Time to write the row after the vendor's answer.
const STORING_MS = 2_000;

/**
 * Ends the attempts of dead workers. Every 5 minutes, activities that have been `fetching` for more than 10 minutes become
 * `failed` and use one attempt. TIME_SCALE shortens the 5 minutes. It also shortens the 10 minutes, but not below the duration of a
 * call and its write. All workers sweep; one of them changes each row. A worker that was only slow loses its claim: its late write is
 * rejected.
 */
@Injectable()
export class StaleCleanup implements OnApplicationBootstrap {
  constructor(
    private readonly fetches: StreamFetches,
    private readonly sweeps: Sweeps,
    @Inject(TIME_SCALE) private readonly scale: TimeScale,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  onApplicationBootstrap(): void {
    this.sweeps.every('stale stream fetches', EVERY_MS, () => this.runOnce());
  }

  async runOnce(): Promise<void> {
    const staleAfterMs = leaseLength(this.scale, STALE_AFTER_MS, LONGEST_CALL_MS + STORING_MS);
    for (const { id, athlete_id } of await this.fetches.cleanUp(staleAfterMs)) {
      staleFetches.inc();
      this.logger.warn({ activity_id: id, athlete_id }, 'stale stream fetch ended');
    }
  }
}
