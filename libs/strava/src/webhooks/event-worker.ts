import { webhookEvents } from '#connections';
import { AppError, type Logger, Loop, type TimeScale } from '#platform';
import { StravaAnswerMalformed, StravaRateLimited, StravaTokenRevoked } from '../strava.errors.js';
import { type EventEffects } from './event-effects.js';
import { type Claim, type EventQueue, type Postponement } from './event-queue.js';

// As many owners at once; the slots for details are four as well.
const LANES = 4;
// Nudges come at once; this is for those that were lost.
const POLL_MS = 1_000;
const PURGE_MS = 3_600_000;
const RETRY_DELAYS_MS = [10_000, 60_000, 300_000, 900_000, 3_600_000];
const MOST_ATTEMPTS = RETRY_DELAYS_MS.length + 1;
// While a server is away its events are not set aside, and not put off for long.
const LONGEST_OUTAGE_DELAY_MS = 900_000;

/** Works on the events that wait. Any number of these may run, in any number of processes. */
export class EventWorker {
  private readonly lanes: readonly Loop[];
  private purgedAtMs = -Infinity;

  constructor(
    private readonly queue: EventQueue,
    private readonly effects: EventEffects,
    private readonly scale: TimeScale,
    private readonly logger: Logger,
  ) {
    const pass = async () => ((await this.runOnce()) ? 0 : this.scale.sweep(POLL_MS));
    this.lanes = Array.from({ length: LANES }, (_, n) => new Loop(`strava events ${n}`, pass, logger));
  }

  start(): void {
    for (const lane of this.lanes) lane.start();
  }

  wake(): void {
    for (const lane of this.lanes) lane.wake();
  }

  /** What is in hand is finished. */
  async stop(): Promise<void> {
    await Promise.all(this.lanes.map((lane) => lane.stop()));
  }

  /** Works on one object's events; false where nothing was due. */
  async runOnce(): Promise<boolean> {
    const claim = await this.queue.claim();
    if (!claim) {
      await this.purgeSometimes();
      return false;
    }
    const renewal = setInterval(() => this.renew(claim), this.queue.leaseMs / 3);
    try {
      await this.work(claim);
    } finally {
      clearInterval(renewal);
    }
    return true;
  }

  private async work(claim: Claim): Promise<void> {
    // Counted when it began, and never ended: a worker died of it, again and again.
    if (claim.attempts > MOST_ATTEMPTS) return this.postpone(claim, failure('given up', claim.attempts));
    try {
      const outcome = await this.effects.apply(claim.matter);
      await this.queue.finish(claim, outcome);
      webhookEvents.inc({ vendor: 'strava', result: outcome }, claim.matter.events.length);
    } catch (error) {
      await this.afterFailure(claim, error);
    }
  }

  private async afterFailure(claim: Claim, error: unknown): Promise<void> {
    // Nothing can be learnt of their activities until they connect again, and then an import does.
    if (error instanceof StravaTokenRevoked) return this.queue.finish(claim, 'ignored', error.code);
    const { objectType, objectId } = claim.matter;
    const about = { object: `${objectType} ${objectId}`, attempts: claim.attempts };
    if (!(error instanceof StravaRateLimited))
      this.logger.warn({ err: error, ...about }, 'strava event failed');
    await this.postpone(claim, this.postponement(error, claim.attempts));
  }

  private postponement(error: unknown, attempts: number): Postponement {
    if (error instanceof StravaRateLimited)
      return { afterMs: error.retryAfterMs, error: error.code, counts: false };
    const delayMs = RETRY_DELAYS_MS[Math.min(attempts, RETRY_DELAYS_MS.length) - 1] ?? 0;
    if (!isOutage(error))
      return { ...failure(nameOf(error), MOST_ATTEMPTS), afterMs: this.scale.wait(delayMs) };
    const afterMs = this.scale.wait(Math.min(delayMs, LONGEST_OUTAGE_DELAY_MS));
    return { afterMs, error: nameOf(error), counts: attempts < MOST_ATTEMPTS };
  }

  private async postpone(claim: Claim, postponement: Postponement): Promise<void> {
    const setAside = await this.queue.postpone(claim, postponement);
    if (setAside === 0) return;
    webhookEvents.inc({ vendor: 'strava', result: 'set_aside' }, setAside);
    const { objectType, objectId } = claim.matter;
    const about = { object: `${objectType} ${objectId}`, error: postponement.error, events: setAside };
    this.logger.error(about, 'strava events set aside');
  }

  private renew(claim: Claim): void {
    this.queue.renew(claim).catch((err: unknown) => this.logger.warn({ err }, 'lease not renewed'));
  }

  private async purgeSometimes(): Promise<void> {
    const nowMs = performance.now();
    if (nowMs - this.purgedAtMs < this.scale.sweep(PURGE_MS)) return;
    this.purgedAtMs = nowMs;
    await this.queue.purge();
  }
}

const failure = (error: string, mostAttempts: number): Postponement => ({
  afterMs: 0,
  error,
  mostAttempts,
  counts: true,
});

/** A server is away, ours or Strava's: not the event's fault. */
function isOutage(error: unknown): boolean {
  return (
    error instanceof AppError && error.kind === 'unavailable' && !(error instanceof StravaAnswerMalformed)
  );
}

/** Of an error that is not ours the text may hold anything. */
function nameOf(error: unknown): string {
  if (error instanceof AppError) return error.code;
  return error instanceof Error ? error.name : 'unknown';
}
