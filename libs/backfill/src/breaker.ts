import { Inject, Injectable } from '@nestjs/common';
import { LOGGER, type Logger, TIME_SCALE, type TimeScale } from '#platform';
import { type VendorId } from '#vendors';

// This many outages in a row open the breaker: further calls would only use up the activities' attempts.
const FAILURES_TO_OPEN = 3;
const PAUSE_MS = 15 * 60_000;

/**
 * Stops this worker's backfill from a vendor for 15 minutes after three outages in a row. After that the next call is a test: a
 * further outage opens the breaker again at once. Other workers have their own breaker.
 */
export class Breaker {
  private failures = 0;
  private openUntilMs = 0;

  constructor(
    private readonly scale: TimeScale,
    private readonly logger: Logger,
  ) {}

  /** Time until the next call; 0 if the breaker is not open. */
  pauseMs(): number {
    return Math.max(0, this.openUntilMs - performance.now());
  }

  record(isOutage: boolean): void {
    this.failures = isOutage ? this.failures + 1 : 0;
    if (this.failures < FAILURES_TO_OPEN) return;
    this.openUntilMs = performance.now() + this.scale.wait(PAUSE_MS);
    this.logger.warn({ failures: this.failures }, 'backfill waits: one stream after the other fails');
  }
}

/** The breakers of all vendors, so that one vendor's outage does not stop the backfill from another. */
@Injectable()
export class Breakers {
  private readonly breakers = new Map<VendorId, Breaker>();

  constructor(
    @Inject(TIME_SCALE) private readonly scale: TimeScale,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  of(provider: VendorId): Breaker {
    const breaker = this.breakers.get(provider) ?? new Breaker(this.scale, this.logger);
    this.breakers.set(provider, breaker);
    return breaker;
  }
}
