import { OnQueueCompleted, OnQueueFailed, Process, Processor } from '@nestjs/bull';
import { Inject, Injectable, type Type } from '@nestjs/common';
import { type Job } from 'bull';
import { type VendorId } from '#vendors';
import { LOGGER, type Logger } from '#platform';
import { BackfillBatch, type Next } from './backfill-batch.js';
import { BackfillTicks, type BackfillTick, queueOf } from './backfill-ticks.js';

/**
 * Each worker runs one batch of a vendor at a time, since a batch may wait long for its turn in the vendor's window. The next tick is scheduled
 * after Bull has removed the present tick: both have the same id. If the worker dies in between, the sweep schedules the next tick.
 */
@Injectable()
abstract class BackfillProcessor {
  constructor(
    private readonly batch: BackfillBatch,
    private readonly ticks: BackfillTicks,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  @Process({ concurrency: 1 })
  async work({ data }: Job<BackfillTick>): Promise<Next | null> {
    return (await this.batch.run(data)) ?? null;
  }

  @OnQueueCompleted()
  async scheduleNext({ data }: Job<BackfillTick>, next: Next | null): Promise<void> {
    if (next) await this.ticks.schedule(data, next.inMs);
  }

  @OnQueueFailed()
  logFailure({ data }: Job<BackfillTick>, err: Error): void {
    this.logger.error({ err, athlete_id: data.athleteId }, 'backfill batch failed');
  }
}

/** The processor of a vendor's queue. */
export function processorOf(provider: VendorId): Type {
  @Processor(queueOf(provider))
  class VendorBackfillProcessor extends BackfillProcessor {}
  return VendorBackfillProcessor;
}
