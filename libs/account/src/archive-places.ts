import { Inject, Injectable } from '@nestjs/common';
import { AppError, LOGGER, type Logger, REDIS, type RedisClient } from '#platform';
import { ArchiveLease } from './archive-lease.js';

// Each archive keeps one of zlib's four threads busy, and competes with the event loop on machines with few cores.
const MOST_AT_ONCE = 2;
const RETRY_AFTER_SECONDS = 30;

/** An archive of the athlete is being made, or its download has not ended. */
export class ArchiveUnderWay extends AppError {
  override readonly code = 'ARCHIVE_UNDER_WAY';
  override readonly kind = 'throttled';
  override readonly retryAfterSeconds = RETRY_AFTER_SECONDS;
  constructor() {
    super('An archive of this account is being downloaded: try again when that download has ended');
  }
}

/** All places for archives in this process are taken. */
export class ArchivesBusy extends AppError {
  override readonly code = 'ARCHIVES_BUSY';
  override readonly kind = 'throttled';
  override readonly retryAfterSeconds = RETRY_AFTER_SECONDS;
  constructor() {
    super('Too many archives are being downloaded: try again in a moment');
  }
}

/**
 * Limits the archives that are made at the same time: one for an athlete over all replicas, and two in a process. Further requests are
 * refused, not queued: an archive takes as long as its download, and every request must be answered within five seconds. While Redis is
 * away, the limit of one for an athlete holds only within each process.
 */
@Injectable()
export class ArchivePlaces {
  private readonly athletes = new Set<string>();

  constructor(
    @Inject(REDIS) private readonly redis: RedisClient,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  /** Returns a function that frees the place. */
  async take(athleteId: string): Promise<() => void> {
    if (this.athletes.has(athleteId)) throw new ArchiveUnderWay();
    if (this.athletes.size >= MOST_AT_ONCE) throw new ArchivesBusy();
    this.athletes.add(athleteId);
    const lease = await ArchiveLease.take(athleteId, this.redis, this.logger);
    if (!lease) {
      this.athletes.delete(athleteId);
      throw new ArchiveUnderWay();
    }
    return () => {
      this.athletes.delete(athleteId);
      lease.end();
    };
  }
}
