import { Inject, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { Gauge } from 'prom-client';
import { LOGGER, type Logger, OneAtATime } from '#platform';
import { type ImportStatus } from './import-job.js';
import { ImportJobs } from './import-jobs.js';

// Scrapes are frequent, and even a bounded count costs too much for each of them.
const KNOWN_FOR_MS = 15_000;

type ImportCounts = ReadonlyMap<ImportStatus, number>;

let latest: () => Promise<ImportCounts | undefined> = () => Promise.resolve(undefined);

new Gauge({
  name: 'import_jobs',
  help: 'Imports by status',
  labelNames: ['status'],
  async collect() {
    // Without a count the metric is left out: its previous numbers would look current.
    this.reset();
    const counts = await latest();
    for (const [status, number] of counts ?? []) this.set({ status }, number);
  },
});

/** Counts the imports for `import_jobs` when a worker is scraped, at most every 15 s. */
@Injectable()
export class ImportGauge implements OnApplicationBootstrap {
  private known: { readonly untilMs: number; readonly counts: ImportCounts } | undefined;
  private readonly counting = new OneAtATime<ImportCounts | undefined>();

  constructor(
    private readonly jobs: ImportJobs,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  onApplicationBootstrap(): void {
    latest = () => this.counting.run('counts', () => this.counts());
  }

  private async counts(): Promise<ImportCounts | undefined> {
    if (this.known && performance.now() < this.known.untilMs) return this.known.counts;
    try {
      const counts = await this.jobs.countByStatus();
      this.known = { counts, untilMs: performance.now() + KNOWN_FOR_MS };
      return counts;
    } catch (err) {
      this.logger.warn({ err }, 'imports not counted');
      return undefined;
    }
  }
}
