import { Inject, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { Gauge } from 'prom-client';
import { LOGGER, type Logger, OneAtATime } from '#platform';
import { JOB_STATUSES, type JobStatus } from '../lifecycle/job.js';
import { Jobs } from '../lifecycle/jobs.js';

// Scrapes are frequent, and even a bounded count costs too much for each of them.
const KNOWN_FOR_MS = 15_000;

type JobCounts = ReadonlyMap<JobStatus, number>;

let latest: () => Promise<JobCounts | undefined> = () => Promise.resolve(undefined);

new Gauge({
  name: 'runtime_jobs',
  help: 'Processing jobs by status',
  labelNames: ['status'],
  async collect() {
    // Without a count the metric is left out: its previous numbers would look current.
    this.reset();
    const counts = await latest();
    if (counts) for (const status of JOB_STATUSES) this.set({ status }, counts.get(status) ?? 0);
  },
});

/** Counts the jobs for `runtime_jobs` when a worker is scraped, at most every 15 s. */
@Injectable()
export class JobGauge implements OnApplicationBootstrap {
  private known: { readonly untilMs: number; readonly counts: JobCounts } | undefined;
  private readonly counting = new OneAtATime<JobCounts | undefined>();

  constructor(
    private readonly jobs: Jobs,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  onApplicationBootstrap(): void {
    latest = () => this.counting.run('counts', () => this.counts());
  }

  private async counts(): Promise<JobCounts | undefined> {
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
