import { type BeforeApplicationShutdown, Inject, Injectable } from '@nestjs/common';
import { isRedisAway, LOGGER, type Logger, TIME_SCALE, type TimeScale } from '#platform';
import { type AttemptOutcome, type Due, StreamAttempts, StreamFetches } from '#streams';
import { type BatchLock, BatchLocks } from './batch-lock.js';
import { BackfillSwitch } from './backfill-switch.js';
import { Breaker } from './breaker.js';
import { Pace } from './pace.js';

// Then it is the next athlete's turn.
const FETCHES_A_BATCH = 5;
// For a slot or through a boundary; a full window is waited for in the queue.
const WAIT_MS = 1_000;
const UNMETERED_PAUSE_MS = 60_000;

/** In how many ms to go on with that athlete; nothing: not before there is something new. */
export type Next = { readonly inMs: number } | undefined;

const AT_ONCE: Next = { inMs: 0 };
// A worker that is stopping leaves the ticks to others.
const SOON: Next = { inMs: 1_000 };

/** A few fetches of one athlete's, the newest activities first. It never waits for a window: whoever rings comes back then. */
@Injectable()
export class BackfillBatch implements BeforeApplicationShutdown {
  private readonly stopping = new AbortController();

  constructor(
    private readonly fetches: StreamFetches,
    private readonly attempts: StreamAttempts,
    private readonly locks: BatchLocks,
    private readonly backfillSwitch: BackfillSwitch,
    private readonly pace: Pace,
    private readonly breaker: Breaker,
    @Inject(TIME_SCALE) private readonly scale: TimeScale,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  beforeApplicationShutdown(): void {
    this.stopping.abort();
  }

  async run(athleteId: string): Promise<Next> {
    if (this.stopping.signal.aborted) return SOON;
    if (await this.backfillSwitch.isPaused()) return undefined;
    try {
      return await this.runLocked(athleteId);
    } catch (err) {
      if (this.stopping.signal.aborted) return SOON;
      if (!isRedisAway(err)) throw err;
      // Nothing is fetched without it, and the rows stay as they are.
      this.logger.warn({ err, athlete_id: athleteId }, 'backfill stopped: Redis is away');
      return undefined;
    }
  }

  private async runLocked(athleteId: string): Promise<Next> {
    const lock = await this.locks.take(athleteId);
    // Another worker has them.
    if (!lock) return undefined;
    try {
      return await this.fetchSome(athleteId, lock);
    } finally {
      await this.release(lock);
    }
  }

  private async fetchSome(athleteId: string, lock: BatchLock): Promise<Next> {
    const due = await this.fetches.due(athleteId, FETCHES_A_BATCH);
    for (const activity of due) {
      const pauseMs = this.breaker.pauseMs();
      if (pauseMs > 0) return { inMs: pauseMs };
      await this.pace.turn(this.stopping.signal);
      if (!(await lock.renew())) return undefined;
      const pause = this.pauseAfter(await this.fetch(athleteId, activity));
      if (pause) return pause.next;
    }
    return due.length > 0 ? AT_ONCE : undefined;
  }

  private fetch(athleteId: string, { id, external_activity_id }: Due): Promise<AttemptOutcome> {
    const target = { id, athleteId, externalActivityId: external_activity_id };
    return this.attempts.attempt(target, { class: 'backfill', waitMs: WAIT_MS });
  }

  private pauseAfter(outcome: AttemptOutcome): { readonly next: Next } | undefined {
    switch (outcome.kind) {
      case 'later':
        return { next: { inMs: outcome.retryAfterMs } };
      case 'unmetered':
        return { next: { inMs: this.scale.wait(UNMETERED_PAUSE_MS) } };
      case 'impossible':
        this.logger.info({ reason: outcome.reason }, 'backfill left for later');
        return { next: undefined };
      case 'ended':
        this.breaker.tell(outcome.isOutage);
        return outcome.retryAfterMs === undefined ? undefined : { next: { inMs: outcome.retryAfterMs } };
      case 'fenced':
      case 'unclaimed':
        return undefined;
    }
  }

  private async release(lock: BatchLock): Promise<void> {
    try {
      await lock.release();
    } catch (err) {
      this.logger.warn({ err }, 'lock of a backfill not given back yet');
    }
  }
}
