import { Inject, Injectable } from '@nestjs/common';
import { LOGGER, type Logger, TIME_SCALE, type TimeScale } from '#platform';

// So many in a row are the vendor's trouble: the activities' few attempts are not spent on it.
const OUTAGE = 3;
const PAUSE_MS = 15 * 60_000;

/** Stands between a vendor in trouble and the activities of all athletes. After a pause one of them may find out whether it is over. */
@Injectable()
export class Breaker {
  private failures = 0;
  private closedUntilMs = 0;

  constructor(
    @Inject(TIME_SCALE) private readonly scale: TimeScale,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  /** 0: go on. */
  pauseMs(): number {
    return Math.max(0, this.closedUntilMs - performance.now());
  }

  tell(isOutage: boolean): void {
    this.failures = isOutage ? this.failures + 1 : 0;
    if (this.failures < OUTAGE) return;
    this.closedUntilMs = performance.now() + this.scale.wait(PAUSE_MS);
    this.logger.warn({ failures: this.failures }, 'backfill waits: one stream after the other fails');
  }
}
