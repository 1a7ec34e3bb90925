import { Process, Processor } from '@nestjs/bull';
import { Inject, Injectable } from '@nestjs/common';
import { type Job } from 'bull';
import { Athletes } from '#connections';
import { Database, TIME_SCALE, type TimeScale, type Worker, Workers } from '#platform';
import { LONGEST_CALL_MS, Sources } from '#vendors';
import { ActivityStore } from '../activity-store.js';
import { ImportBatch, type BatchOutcome, type ImportParts } from './import-batch.js';
import { type ImportClaim } from './import-job.js';
import { ImportJobs } from './import-jobs.js';
import { ImportChanges } from './import-changes.js';
import { ImportNews } from './import-news.js';
import { ImportSettlement } from './import-settlement.js';
import { IMPORT_QUEUE, type ImportTick } from './import-ticks.js';

const LEASE_MS = 60_000;

/** Runs one batch of an import, with the source of its vendor. */
@Injectable()
export class ImportBatches {
  private readonly parts: Omit<ImportParts, 'source'>;

  constructor(
    private readonly sources: Sources,
    athletes: Athletes,
    store: ActivityStore,
    jobs: ImportJobs,
    news: ImportNews,
    changes: ImportChanges,
    database: Database,
    @Inject(TIME_SCALE) scale: TimeScale,
  ) {
    this.parts = { athletes, store, jobs, news, changes, database, scale };
  }

  run(claim: ImportClaim, signal: AbortSignal, isStopping: () => boolean): Promise<BatchOutcome> {
    const source = this.sources.activities(claim.provider);
    return new ImportBatch({ ...this.parts, source }, claim, signal, isStopping).run();
  }
}

/** Runs one batch of an import at a time, as a worker's attempt. */
@Injectable()
export class ImportRunner {
  private readonly worker: Worker<ImportClaim, BatchOutcome>;

  constructor(
    batches: ImportBatches,
    settlement: ImportSettlement,
    private readonly jobs: ImportJobs,
    workers: Workers,
  ) {
    this.worker = workers.of<ImportClaim, BatchOutcome>({
      name: 'imports',
      // Outlasts the longest call.
      lease: { ms: LEASE_MS, atLeastMs: LONGEST_CALL_MS },
      renew: (claim, leaseMs) => jobs.renew(claim, leaseMs),
      run: (claim, { signal, isStopping }) => batches.run(claim, signal, isStopping),
      failed: () => ({ kind: 'accident', error: 'An internal error' }),
      settle: (claim, outcome) => settlement.settle(claim, outcome),
      about: ({ id }) => ({ import_id: id }),
    });
  }

  /** Does nothing if the import is not due, or if the tick is older than its fence. */
  async runBatch({ importId, fence }: ImportTick): Promise<void> {
    await this.worker.runOne((leaseMs) => this.jobs.claim(importId, fence, leaseMs));
  }
}

/**
 * Each worker runs one batch at a time, so that only one vendor call is repeated if the worker dies. Several workers run several
 * batches at a time. The vendor's slots limit the concurrent calls.
 */
@Processor(IMPORT_QUEUE)
export class ImportProcessor {
  constructor(private readonly runner: ImportRunner) {}

  @Process({ concurrency: 1 })
  run({ data }: Job<ImportTick>): Promise<void> {
    return this.runner.runBatch(data);
  }
}
