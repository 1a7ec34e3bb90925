import { getQueueToken } from '@nestjs/bull';
import { type FactoryProvider } from '@nestjs/common';
import { type JobOptions, type Queue } from 'bull';
import { LOGGER, type Logger, queueMissing } from '#platform';
import { type BackfillOwner } from '#streams';
import { type VendorId, vendorsWith } from '#vendors';

export type BackfillTick = BackfillOwner;

/** Each vendor has a queue, so that a worker that waits for one vendor's window goes on with another's backfill. */
export const queueOf = (provider: VendorId) => `backfill-${provider}`;
export const BACKFILLED = vendorsWith('streams');

const NOT_KEPT: JobOptions = { removeOnComplete: true, removeOnFail: true };
// A tick that comes a moment too early finds the window still full.
const LATE_MS = 10;

/**
 * Schedules the next batch of an athlete's backfill. An athlete has at most one tick in a vendor's queue, queued or delayed, since the tick's id
 * is the athlete's id. A tick carries no work: the rows say what is due, so the sweep can schedule a tick that Redis lost.
 */
export class BackfillTicks {
  constructor(
    private readonly queues: ReadonlyMap<VendorId, Queue<BackfillTick>>,
    private readonly logger: Logger,
  ) {}

  /** Queues a tick behind other athletes' ticks, after `delayMs`. Does nothing if the athlete has a tick. False if Redis is away. */
  schedule({ athleteId, provider }: BackfillOwner, delayMs = 0): Promise<boolean> {
    return this.orWarn(athleteId, async () => {
      const delay = delayMs > 0 ? Math.ceil(delayMs) + LATE_MS : 0;
      const options = { ...NOT_KEPT, jobId: athleteId, delay };
      await this.queue(provider).add({ athleteId, provider }, options);
    });
  }

  /** Queues a tick for each of these athletes who has none in the lists of Redis. */
  async scheduleMissing(owners: readonly BackfillOwner[]): Promise<void> {
    for (const [provider, queue] of this.queues) {
      const ticks = owners
        .filter((owner) => owner.provider === provider)
        .map((owner) => ({ data: owner, options: { ...NOT_KEPT, jobId: owner.athleteId } }));
      await queueMissing(queue, ticks);
    }
  }

  /** Queues a tick now, even if the athlete's tick is delayed until a window opens: new streams may be due. */
  scheduleNow({ athleteId, provider }: BackfillOwner): Promise<boolean> {
    return this.orWarn(athleteId, async () => {
      const queue = this.queue(provider);
      const tick = await queue.getJob(athleteId);
      if (tick && (await tick.isDelayed())) await tick.promote();
      else await queue.add({ athleteId, provider }, { ...NOT_KEPT, jobId: athleteId });
    });
  }

  private queue(provider: VendorId): Queue<BackfillTick> {
    const queue = this.queues.get(provider);
    if (!queue) throw new Error(`${provider} has no backfill`);
    return queue;
  }

  /** False if Redis is away. */
  private async orWarn(athleteId: string, schedule: () => Promise<void>): Promise<boolean> {
    try {
      await schedule();
      return true;
    } catch (err) {
      this.logger.warn({ err, athlete_id: athleteId }, 'backfill not queued: the sweep will find it');
      return false;
    }
  }
}

export const backfillTicks: FactoryProvider<BackfillTicks> = {
  provide: BackfillTicks,
  inject: [LOGGER, ...BACKFILLED.map((provider) => getQueueToken(queueOf(provider)))],
  useFactory: (logger: Logger, ...queues: Array<Queue<BackfillTick>>) =>
    new BackfillTicks(new Map(queues.map((queue, index) => [BACKFILLED[index] as VendorId, queue])), logger),
};
