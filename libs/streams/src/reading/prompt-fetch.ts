import { setTimeout as pause } from 'node:timers/promises';
import { Inject, Injectable } from '@nestjs/common';
import { Database, LOGGER, type Logger } from '#platform';
import { Coalescer } from '#reliability';
import { type AttemptOutcome, StreamAttempts, type Target } from '../fetch/stream-attempts.js';
import { STREAM_SOURCE, type StreamSource } from '../fetch/stream-source.js';
import { type FetchStatus } from '../lifecycle/fetch-state.js';
import { PromptShare } from './prompt-share.js';

const LOOK_EVERY_MS = 100;

/**
 * Somebody is looking at the activity: its streams are fetched now, or the attempt that is under way is waited for. Whoever looks
 * at the same activity, through whichever replica, shares one attempt: the others need no leave of the budget and hear of its
 * end at once. The claim does not depend on that; it lets one of them through where Redis is away, and the others look at the row.
 */
@Injectable()
export class PromptFetch {
  constructor(
    private readonly attempts: StreamAttempts,
    private readonly share: PromptShare,
    private readonly coalescer: Coalescer,
    @Inject(STREAM_SOURCE) private readonly source: StreamSource,
    private readonly database: Database,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  /** Ends when there is something new to say, or when the time is up. An attempt goes on without those who waited for it. */
  async within(target: Target, status: FetchStatus, waitMs: number): Promise<void> {
    const untilMs = performance.now() + waitMs;
    if (status === 'pending') {
      const attempt = this.sharedAttempt(target, waitMs);
      // Nobody waits for the rest of it, the end of the process least of all.
      const outcome = await Promise.race([attempt, pause(waitMs, undefined, { ref: false })]);
      // Another process has it.
      if (outcome?.kind !== 'unclaimed') return;
    }
    await this.whileFetching(target.id, untilMs);
  }

  /** For as long as it can last: the call is paid for, and the next who looks finds it under way. */
  private sharedAttempt(target: Target, waitMs: number): Promise<AttemptOutcome | null> {
    const deadlineMs = waitMs + this.source.longestCallMs;
    const ask = { scope: 'streams', client: target.athleteId, intent: target.id, deadlineMs };
    return this.coalescer.share(ask, () => this.attempt(target, waitMs));
  }

  private async attempt(target: Target, waitMs: number): Promise<AttemptOutcome | null> {
    if (!(await this.isTheirTurn(target.athleteId, waitMs))) return null;
    try {
      return await this.attempts.attempt(target, { class: 'live', waitMs });
    } catch (err) {
      this.logger.warn({ err, activity_id: target.id }, 'prompt stream fetch failed');
      return null;
    } finally {
      this.share.end(target.athleteId);
    }
  }

  private async isTheirTurn(athleteId: string, waitMs: number): Promise<boolean> {
    const untilMs = performance.now() + waitMs;
    for (;;) {
      const answer = this.share.take(athleteId);
      if (answer === 'taken') return true;
      if (answer === 'spent' || performance.now() >= untilMs) return false;
      await pause(LOOK_EVERY_MS, undefined, { ref: false });
    }
  }

  private async whileFetching(id: string, untilMs: number): Promise<void> {
    while (performance.now() < untilMs) {
      await pause(Math.min(LOOK_EVERY_MS, Math.max(0, untilMs - performance.now())));
      const statement = {
        name: 'is fetching',
        text: `select 1 from activity where id = $1 and stream_fetch_status = 'fetching'`,
      };
      const { count } = await this.database.query(statement, [id]);
      if (count === 0) return;
    }
  }
}
