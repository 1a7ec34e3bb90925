import { setTimeout as pause } from 'node:timers/promises';
import { Inject, Injectable } from '@nestjs/common';
import { Database, LOGGER, type Logger, prepared } from '#platform';
import { Coalescer } from '#reliability';
import { LONGEST_CALL_MS } from '#vendors';
import { type AttemptOutcome, StreamAttempts, type FetchTarget } from '../fetch/stream-attempts.js';
import { type FetchStatus } from '../lifecycle/stream-fetches.js';
import { PromptLimiter, type PromptSlot } from './prompt-limiter.js';

const POLL_EVERY_MS = 100;

const isFetching = prepared(
  'is fetching',
  `select 1 from activity where id = $1 and stream_fetch_status = 'fetching'`,
);

/**
 * Fetches an activity's streams while a reader waits, or waits for the attempt under way. Readers of one activity share one
 * attempt over all replicas and need one permit. While Redis is away, replicas do not share an attempt: the claim lets one
 * replica fetch, and the other replicas poll the row every 100 ms. A reader is answered in time, but may get no streams.
 */
@Injectable()
export class PromptFetch {
  constructor(
    private readonly attempts: StreamAttempts,
    private readonly limiter: PromptLimiter,
    private readonly coalescer: Coalescer,
    private readonly database: Database,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  /** Resolves when the state has changed or after `waitMs`. The attempt goes on when its readers stop waiting. */
  async fetchOrWait(target: FetchTarget, status: FetchStatus, waitMs: number): Promise<void> {
    const untilMs = performance.now() + waitMs;
    if (status === 'pending') {
      const attempt = this.sharedAttempt(target, waitMs);
      // Without `ref: false` this timer would delay the end of the process.
      const outcome = await Promise.race([attempt, pause(waitMs, undefined, { ref: false })]);
      // Another process holds the claim: wait for the row below.
      if (outcome?.kind !== 'unclaimed') return;
    }
    await this.waitWhileFetching(target.id, untilMs);
  }

  /** The deadline includes the longest vendor call: a permit has been used for the call, and later readers may join the attempt. */
  private sharedAttempt(target: FetchTarget, waitMs: number): Promise<AttemptOutcome | null> {
    const deadlineMs = waitMs + LONGEST_CALL_MS;
    const request = { scope: 'streams', client: target.athleteId, intent: target.id, deadlineMs };
    return this.coalescer.share(request, () => this.attempt(target, waitMs));
  }

  private async attempt(target: FetchTarget, waitMs: number): Promise<AttemptOutcome | null> {
    const slot = await this.takeSlot(target.athleteId, waitMs);
    if (slot.kind !== 'taken') return null;
    try {
      return await this.attempts.attempt(target, { class: 'live', waitMs });
    } catch (err) {
      this.logger.warn({ err, activity_id: target.id }, 'prompt stream fetch failed');
      return null;
    } finally {
      await slot.release();
    }
  }

  /** Polls while the athlete has as many attempts under way as allowed. */
  private async takeSlot(athleteId: string, waitMs: number): Promise<PromptSlot> {
    const untilMs = performance.now() + waitMs;
    for (;;) {
      const slot = await this.limiter.take(athleteId, waitMs + LONGEST_CALL_MS);
      if (slot.kind !== 'busy' || performance.now() >= untilMs) return slot;
      await pause(POLL_EVERY_MS, undefined, { ref: false });
    }
  }

  private async waitWhileFetching(id: string, untilMs: number): Promise<void> {
    while (performance.now() < untilMs) {
      await pause(Math.min(POLL_EVERY_MS, Math.max(0, untilMs - performance.now())));
      const { count } = await this.database.query(isFetching, [id]);
      if (count === 0) return;
    }
  }
}
