import { Inject, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { Gauge } from 'prom-client';
import { LOGGER, type Logger, OneAtATime } from '#platform';
import { StreamCounts, type StreamOverview } from './stream-counts.js';

// Counting looks at every activity's index entry; scrapers ask more often than that is worth.
const KNOWN_FOR_MS = 60_000;

let latest: () => Promise<StreamOverview | undefined> = () => Promise.resolve(undefined);

new Gauge({
  name: 'stream_fetch_activities',
  help: 'Activities by the state of their streams',
  labelNames: ['status'],
  async collect() {
    // What cannot be asked is left out: an old number would look like a new one.
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
    for (const [retries, count] of overview?.byRetries ?? []) this.set({ retry_count: retries }, count);
  },
});

new Gauge({
  name: 'stream_fetch_stuck_failed',
  help: 'Activities whose streams are not tried again until somebody resets them',
  async collect() {
    const overview = await latest();
    if (overview) this.set(overview.stuck);
    else this.remove();
  },
});

/** What the gauges show, counted by a worker when it is scraped. */
@Injectable()
export class StreamGauges implements OnApplicationBootstrap {
  private known: { readonly untilMs: number; readonly overview: StreamOverview } | undefined;
  private readonly asking = new OneAtATime<StreamOverview | undefined>();

  constructor(
    private readonly counts: StreamCounts,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  onApplicationBootstrap(): void {
    latest = () => this.asking.run('overview', () => this.overview());
  }

  private async overview(): Promise<StreamOverview | undefined> {
    if (this.known && performance.now() < this.known.untilMs) return this.known.overview;
    try {
      const overview = await this.counts.overview();
      this.known = { overview, untilMs: performance.now() + KNOWN_FOR_MS };
      return overview;
    } catch (err) {
      this.logger.warn({ err }, 'stream fetches not counted');
      return undefined;
    }
  }
}
