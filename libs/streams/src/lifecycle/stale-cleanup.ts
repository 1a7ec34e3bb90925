import { Inject, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { LOGGER, type Logger, Sweeps, TIME_SCALE, type TimeScale } from '#platform';
import { STREAM_SOURCE, type StreamSource } from '../fetch/stream-source.js';
import { STALE_AFTER_MS } from './retry-policy.js';
import { StreamFetches } from './stream-fetches.js';

const EVERY_MS = 5 * 60_000;
// After the answer comes the row.
const STORING_MS = 2_000;

/** Takes back what a worker died over. Any number of workers may do it at once: each row is taken back by one of them. */
@Injectable()
export class StaleCleanup implements OnApplicationBootstrap {
  constructor(
    private readonly fetches: StreamFetches,
    private readonly sweeps: Sweeps,
    @Inject(STREAM_SOURCE) private readonly source: StreamSource,
    @Inject(TIME_SCALE) private readonly scale: TimeScale,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  onApplicationBootstrap(): void {
    this.sweeps.every('stale stream fetches', EVERY_MS, () => this.runOnce());
  }

  async runOnce(): Promise<void> {
    const staleAfterMs = Math.max(this.scale.guard(STALE_AFTER_MS), this.source.longestCallMs + STORING_MS);
    for (const { id, athlete_id } of await this.fetches.cleanUp(staleAfterMs))
      this.logger.warn({ activity_id: id, athlete_id }, 'stale stream fetch taken back');
  }
}
