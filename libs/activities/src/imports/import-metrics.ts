import { Gauge } from 'prom-client';
import { type ImportStatus } from './import-job.js';

type CountByStatus = () => Promise<ReadonlyMap<ImportStatus, number> | undefined>;

let count: CountByStatus | undefined;

new Gauge({
  name: 'import_jobs',
  help: 'Imports by status',
  labelNames: ['status'],
  async collect() {
    // What cannot be asked is left out: an old number would look like a new one.
    this.reset();
    const jobs = await count?.();
    for (const [status, number] of jobs ?? []) this.set({ status }, number);
  },
});

/** From now on a scrape asks there. */
export function observeImports(countByStatus: CountByStatus): void {
  count = countByStatus;
}
