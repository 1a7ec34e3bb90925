import { Injectable } from '@nestjs/common';
import { Database } from '#platform';
import { type ActivityOwner, ActivityStore } from '../activity-store.js';
import { ImportJobs } from './import-jobs.js';
import { ImportTicks } from './import-ticks.js';

/** Begins an incremental import of the activities whose detail or photos are still to be fetched. */
@Injectable()
export class PendingImports {
  constructor(
    private readonly store: ActivityStore,
    private readonly jobs: ImportJobs,
    private readonly ticks: ImportTicks,
    private readonly database: Database,
  ) {}

  /** Does nothing if no activity is pending. If there is an unfinished incremental import, queues a tick for that import. */
  async begin(owner: ActivityOwner): Promise<void> {
    const oldest = await this.store.oldestPending(this.database, owner);
    if (!oldest) return;
    const { job } = await this.jobs.createOrFind(owner, 'incremental', oldest);
    await this.ticks.next(job.id, job.fence);
  }
}
