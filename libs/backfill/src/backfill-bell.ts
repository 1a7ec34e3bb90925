import { InjectQueue } from '@nestjs/bull';
import { Inject, Injectable } from '@nestjs/common';
import { type JobOptions, type Queue } from 'bull';
import { LOGGER, type Logger } from '#platform';

export const BACKFILL_QUEUE = 'backfill';

export interface BackfillTick {
  readonly athleteId: string;
}

const FORGOTTEN: JobOptions = { removeOnComplete: true, removeOnFail: true };
// A tick that came a moment early would find the window still full.
const LATE_MS = 10;

/**
 * Says when to go on with an athlete's backfill. Each athlete has one tick at most, waiting in line or for its hour: its id
 * is theirs. What there is to do is read from the rows, so that a tick which Redis lost is rung again by the sweep.
 */
@Injectable()
export class BackfillBell {
  constructor(
    @InjectQueue(BACKFILL_QUEUE) private readonly queue: Queue<BackfillTick>,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  /** In line behind the other athletes, unless they are in it already. */
  ring(athleteId: string, delayMs = 0): Promise<boolean> {
    return this.try(athleteId, async () => {
      const delay = delayMs > 0 ? Math.ceil(delayMs) + LATE_MS : 0;
      await this.queue.add({ athleteId }, { ...FORGOTTEN, jobId: athleteId, delay });
    });
  }

  /** Now, also where they were to wait for a window: there may be something new to do. */
  ringNow(athleteId: string): Promise<boolean> {
    return this.try(athleteId, async () => {
      const tick = await this.queue.getJob(athleteId);
      if (tick && (await tick.isDelayed())) await tick.promote();
      else await this.queue.add({ athleteId }, { ...FORGOTTEN, jobId: athleteId });
    });
  }

  /** False: it could not be rung. */
  private async try(athleteId: string, ring: () => Promise<void>): Promise<boolean> {
    try {
      await ring();
      return true;
    } catch (err) {
      this.logger.warn({ err, athlete_id: athleteId }, 'backfill not queued: the sweep will find it');
      return false;
    }
  }
}
