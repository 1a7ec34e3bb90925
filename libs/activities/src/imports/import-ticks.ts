import { InjectQueue } from '@nestjs/bull';
import { Inject, Injectable } from '@nestjs/common';
import { type JobOptions, type Queue } from 'bull';
import { LOGGER, type Logger, queueMissing } from '#platform';

export const IMPORT_QUEUE = 'imports';

export interface ImportTick {
  readonly importId: string;
  /** The import's fence when the tick was queued. A tick with an older fence claims nothing. */
  readonly fence: string;
}

// Bull removes a finished tick, so that its id may be used again.
const REMOVED_AFTERWARDS: JobOptions = { removeOnComplete: true, removeOnFail: true };
// A tick that comes a moment early finds nothing due, and the import then waits for the sweep.
const LATE_MS = 10;

/**
 * Queues messages that say "look at this import". The row decides whether anything is due. The ids keep the same tick from being
 * queued twice. Not guaranteed: Redis may lose a tick. The sweep then queues another tick within 30 s.
 */
@Injectable()
export class ImportTicks {
  constructor(
    @InjectQueue(IMPORT_QUEUE) private readonly queue: Queue<ImportTick>,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  /** Queues a tick behind the ticks of other imports. */
  next(importId: string, fence: string): Promise<void> {
    const { data, options } = tickOf(importId, fence);
    return this.queueTick(data, options);
  }

  /** Queues a tick for each of these imports whose tick is in no list of Redis. */
  missing(imports: ReadonlyArray<{ readonly id: string; readonly fence: string }>): Promise<void> {
    return queueMissing(
      this.queue,
      imports.map(({ id, fence }) => tickOf(id, fence)),
    );
  }

  /** Queues a tick for `at`, which is `delayMs` from now. */
  later(importId: string, fence: string, at: Date, delayMs: number): Promise<void> {
    return this.queueTick(
      { importId, fence },
      {
        jobId: `${importId}:at:${at.getTime()}`,
        delay: Math.ceil(delayMs) + LATE_MS,
      },
    );
  }

  private async queueTick(tick: ImportTick, options: JobOptions): Promise<void> {
    try {
      await this.queue.add(tick, { ...REMOVED_AFTERWARDS, ...options });
    } catch (err) {
      this.logger.warn({ err, import_id: tick.importId }, 'import not queued: the sweep will queue it');
    }
  }
}

const tickOf = (importId: string, fence: string) => ({
  data: { importId, fence },
  options: { ...REMOVED_AFTERWARDS, jobId: `${importId}:${fence}` },
});
