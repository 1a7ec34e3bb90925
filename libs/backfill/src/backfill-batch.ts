import { type BeforeApplicationShutdown, Inject, Injectable } from '@nestjs/common';
import { isRedisAway, LOGGER, type Logger, TIME_SCALE, type TimeScale } from '#platform';
import {
  type AttemptOutcome,
  type BackfillOwner,
  type DueFetch,
  StreamAttempts,
  StreamFetches,
} from '#streams';
import { type BatchLock, BatchLocks } from './batch-lock.js';
import { BackfillSwitch } from './backfill.js';
import { type Breaker, Breakers } from './breaker.js';
import { Pace } from './pace.js';

// After this many fetches the next athlete has a turn.
const FETCHES_PER_BATCH = 5;
// A fetch waits at most this long for a slot or for a boundary to pass. While a window is full, the next tick is delayed instead.
const WAIT_MS = 1_000;
const BUDGET_AWAY_PAUSE_MS = 60_000;

/** Time until the athlete's next batch. If undefined, the next batch runs when the sweep finds due streams. */
export type Next = { readonly inMs: number } | undefined;

const AT_ONCE: Next = { inMs: 0 };
// A worker that stops leaves the tick to other workers.
const SOON: Next = { inMs: 1_000 };

/** Fetches up to five streams of one athlete at a vendor, newest activities first. `run` returns the time until the athlete's next batch. */
@Injectable()
export class BackfillBatch implements BeforeApplicationShutdown {
  private readonly stopping = new AbortController();

  constructor(
    private readonly fetches: StreamFetches,
    private readonly attempts: StreamAttempts,
    private readonly locks: BatchLocks,
    private readonly backfillSwitch: BackfillSwitch,
    private readonly pace: Pace,
    private readonly breakers: Breakers,
    @Inject(TIME_SCALE) private readonly scale: TimeScale,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  beforeApplicationShutdown(): void {
    this.stopping.abort();
  }

  async run(owner: BackfillOwner): Promise<Next> {
    if (this.stopping.signal.aborted) return SOON;
    if (await this.backfillSwitch.isPaused()) return undefined;
    try {
      return await this.runLocked(owner);
    } catch (err) {
      if (this.stopping.signal.aborted) return SOON;
      if (!isRedisAway(err)) throw err;
      // Without Redis nothing is fetched, and the rows stay due.
      this.logger.warn({ err, athlete_id: owner.athleteId }, 'backfill stopped: Redis is away');
      return undefined;
    }
  }

  private async runLocked(owner: BackfillOwner): Promise<Next> {
    const lock = await this.locks.take(owner);
    // Another worker runs this athlete's batch.
    if (!lock) return undefined;
    try {
      return await this.fetchSome(owner, lock);
    } finally {
      await this.release(lock);
    }
  }

  private async fetchSome(owner: BackfillOwner, lock: BatchLock): Promise<Next> {
    const breaker = this.breakers.of(owner.provider);
    const due = await this.fetches.due(owner, FETCHES_PER_BATCH);
    for (const activity of due) {
      const pauseMs = breaker.pauseMs();
      if (pauseMs > 0) return { inMs: pauseMs };
      await this.pace.waitForTurn(owner.provider, this.stopping.signal);
      if (!(await lock.renew())) return undefined;
      const pause = this.pauseAfter(await this.fetch(owner.athleteId, activity), breaker);
      if (pause) return pause.next;
    }
    return due.length > 0 ? AT_ONCE : undefined;
  }

  private fetch(
    athleteId: string,
    { id, provider, external_activity_id }: DueFetch,
  ): Promise<AttemptOutcome> {
    const target = { id, athleteId, provider, externalActivityId: external_activity_id };
    return this.attempts.attempt(target, { class: 'backfill', waitMs: WAIT_MS });
  }

  private pauseAfter(outcome: AttemptOutcome, breaker: Breaker): { readonly next: Next } | undefined {
    switch (outcome.kind) {
      case 'notNow':
        return { next: { inMs: outcome.retryAfterMs } };
      case 'budgetUnavailable':
        return { next: { inMs: this.scale.wait(BUDGET_AWAY_PAUSE_MS) } };
      case 'impossible':
        this.logger.info(
          { reason: outcome.reason },
          'backfill of an athlete stopped: the streams cannot be fetched now',
        );
        return { next: undefined };
      case 'ended':
        breaker.record(outcome.isOutage);
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
      this.logger.warn({ err }, 'backfill lock not released yet');
    }
  }
}
