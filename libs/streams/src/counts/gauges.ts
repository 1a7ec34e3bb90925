import { Inject, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { Gauge } from 'prom-client';
import { LOGGER, type Logger, OneAtATime, Sweeps } from '#platform';
import { MOST_ATTEMPTS } from '../lifecycle/retry-policy.js';
import { StreamCounts, type StreamOverview } from './stream-counts.js';

// A scrape collects three gauges, which share one overview.
const CACHED_FOR_MS = 5_000;
const FOLD_EVERY_MS = 10_000;

let latest: () => Promise<StreamOverview | undefined> = () => Promise.resolve(undefined);

new Gauge({
  name: 'stream_fetch_activities',
  help: 'Activities by the state of their streams',
  labelNames: ['status'],
  async collect() {
    // The series disappears while the database is away: an old number would look like a current one.
    this.reset();
    const overview = await latest();
    for (const [status, count] of Object.entries(overview?.byStatus ?? {})) this.set({ status }, count);
  },
});

new Gauge({
  name: 'stream_fetch_failed_by_retry',
  help: 'Activities whose streams could not be fetched, by how often that was tried',
  labelNames: ['retry_count'],
  async collect() {
    this.reset();
    const overview = await latest();
    if (!overview) return;
    for (let retries = 1; retries <= MOST_ATTEMPTS; retries += 1) this.set({ retry_count: retries }, 0);
    for (const [retries, count] of overview.byRetries) this.set({ retry_count: retries }, count);
  },
});

new Gauge({
  name: 'stream_fetch_stuck_failed',
  help: 'Activities whose streams are not tried again until an operator resets them',
  async collect() {
    const overview = await latest();
    if (overview) this.set(overview.stuck);
    else this.remove();
  },
});

/**
 * Sets the gauges when a worker is scraped, to values at most 5 s old. Each worker folds the counts every 10 s; a lock lets only
 * one worker fold at a time.
 */
@Injectable()
export class StreamGauges implements OnApplicationBootstrap {
  private cached: { readonly untilMs: number; readonly overview: StreamOverview } | undefined;
  private readonly reading = new OneAtATime<StreamOverview | undefined>();

  constructor(
    private readonly counts: StreamCounts,
    private readonly sweeps: Sweeps,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  onApplicationBootstrap(): void {
    latest = () => this.reading.run('overview', () => this.overview());
    this.sweeps.every('stream counts', FOLD_EVERY_MS, () => this.counts.fold());
  }

  private async overview(): Promise<StreamOverview | undefined> {
    if (this.cached && performance.now() < this.cached.untilMs) return this.cached.overview;
    try {
      const overview = await this.counts.overview();
      this.cached = { overview, untilMs: performance.now() + CACHED_FOR_MS };
      return overview;
    } catch (err) {
      this.logger.warn({ err }, 'stream fetches not counted');
      return undefined;
    }
  }
}
