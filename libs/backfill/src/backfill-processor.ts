import { OnQueueCompleted, OnQueueFailed, Process, Processor } from '@nestjs/bull';
import { Inject } from '@nestjs/common';
import { type Job } from 'bull';
import { LOGGER, type Logger } from '#platform';
import { BackfillBatch, type Next } from './backfill-batch.js';
import { BACKFILL_QUEUE, BackfillBell, type BackfillTick } from './backfill-bell.js';

/**
 * One athlete's batch at a time in each worker. The next tick is rung once Bull has forgotten this one, whose id it has; a
 * worker that dies in between leaves it to the sweep.
 */
@Processor(BACKFILL_QUEUE)
export class BackfillProcessor {
  constructor(
    private readonly batch: BackfillBatch,
    private readonly bell: BackfillBell,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  @Process({ concurrency: 1 })
  async work({ data }: Job<BackfillTick>): Promise<Next | null> {
    return (await this.batch.run(data.athleteId)) ?? null;
  }

  @OnQueueCompleted()
  async goOn({ data }: Job<BackfillTick>, next: Next | null): Promise<void> {
    if (next) await this.bell.ring(data.athleteId, next.inMs);
  }

  @OnQueueFailed()
  tell({ data }: Job<BackfillTick>, err: Error): void {
    this.logger.error({ err, athlete_id: data.athleteId }, 'backfill batch failed');
  }
}
