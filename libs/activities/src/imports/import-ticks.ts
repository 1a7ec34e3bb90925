import { InjectQueue } from '@nestjs/bull';
import { Inject, Injectable } from '@nestjs/common';
import { type JobOptions, type Queue } from 'bull';
import { LOGGER, type Logger } from '#platform';

export const IMPORT_QUEUE = 'imports';

export interface ImportTick {
  readonly importId: string;
  /** The turn that has ended; one that is older rings for nobody. */
  readonly turn: number;
}

// Bull forgets a tick that has been worked, so that its id may be used again.
const FORGOTTEN: JobOptions = { removeOnComplete: true, removeOnFail: true };
// A tick that came a moment early would find nothing due and be lost until the sweep.
const LATE_MS = 10;

/**
 * Says when to look at an import. The queue is a bell, not the truth: what is due is decided by the row, and a tick that
 * Redis lost is rung again by the sweep. The ids keep the same tick from being queued twice.
 */
@Injectable()
export class ImportTicks {
  constructor(
    @InjectQueue(IMPORT_QUEUE) private readonly queue: Queue<ImportTick>,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  /** Behind the imports that are waiting already: one turn each. */
  next(importId: string, turn: number): Promise<void> {
    return this.ring({ importId, turn }, { jobId: `${importId}:${turn}` });
  }

  later(importId: string, turn: number, at: Date, delayMs: number): Promise<void> {
    return this.ring(
      { importId, turn },
      {
        jobId: `${importId}:at:${at.getTime()}`,
        delay: Math.ceil(delayMs) + LATE_MS,
      },
    );
  }

  private async ring(tick: ImportTick, options: JobOptions): Promise<void> {
    try {
      await this.queue.add(tick, { ...FORGOTTEN, ...options });
    } catch (err) {
      this.logger.warn({ err, import_id: tick.importId }, 'import not queued: the sweep will find it');
    }
  }
}
