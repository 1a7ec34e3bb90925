import { Inject, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { Gauge } from 'prom-client';
import { LOGGER, type Logger, OneAtATime } from '#platform';
import { JOB_STATUSES, type JobStatus } from '../lifecycle/job.js';
import { Jobs } from '../lifecycle/jobs.js';

// Counting looks at every job; scrapers ask more often than that is worth.
const KNOWN_FOR_MS = 15_000;

type Counts = ReadonlyMap<JobStatus, number>;

let latest: () => Promise<Counts | undefined> = () => Promise.resolve(undefined);

new Gauge({
  name: 'runtime_jobs',
  help: 'Processing jobs by status',
  labelNames: ['status'],
  async collect() {
    // What cannot be asked is left out: an old number would look like a new one.
    this.reset();
    const counts = await latest();
    if (counts) for (const status of JOB_STATUSES) this.set({ status }, counts.get(status) ?? 0);
  },
});

/** What the gauge shows, counted by a worker when it is scraped. */
@Injectable()
export class JobGauge implements OnApplicationBootstrap {
  private known: { readonly untilMs: number; readonly counts: Counts } | undefined;
  private readonly asking = new OneAtATime<Counts | undefined>();

  constructor(
    private readonly jobs: Jobs,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  onApplicationBootstrap(): void {
    latest = () => this.asking.run('counts', () => this.counts());
  }

  private async counts(): Promise<Counts | undefined> {
    if (this.known && performance.now() < this.known.untilMs) return this.known.counts;
    try {
      const counts = await this.jobs.countByStatus();
      this.known = { counts, untilMs: performance.now() + KNOWN_FOR_MS };
      return counts;
    } catch (err) {
      this.logger.warn({ err }, 'jobs not counted');
      return undefined;
    }
  }
}
