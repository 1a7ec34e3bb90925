import { setTimeout as pause } from 'node:timers/promises';
import { Inject, Injectable } from '@nestjs/common';
import { Database, LOGGER, type Logger, OneAtATime } from '#platform';
import { type AttemptOutcome, StreamAttempts, type Target } from '../fetch/stream-attempts.js';
import { type FetchStatus } from '../lifecycle/fetch-state.js';
import { PromptShare } from './prompt-share.js';

const LOOK_EVERY_MS = 100;

/** Somebody is looking at the activity: its streams are fetched now, or the attempt that is under way is waited for. */
@Injectable()
export class PromptFetch {
  private readonly fetching = new OneAtATime<AttemptOutcome | undefined>();

  constructor(
    private readonly attempts: StreamAttempts,
    private readonly share: PromptShare,
    private readonly database: Database,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  /** Ends when there is something new to say, or when the time is up. An attempt goes on without those who waited for it. */
  async within(target: Target, status: FetchStatus, waitMs: number): Promise<void> {
    const untilMs = performance.now() + waitMs;
    if (status === 'pending') {
      const attempt = this.fetching.run(target.id, () => this.attempt(target, waitMs));
      // Nobody waits for the rest of it, the end of the process least of all.
      const outcome = await Promise.race([attempt, pause(waitMs, undefined, { ref: false })]);
      // Another process has it.
      if (outcome?.kind !== 'unclaimed') return;
    }
    await this.whileFetching(target.id, untilMs);
  }

  private async attempt(target: Target, waitMs: number): Promise<AttemptOutcome | undefined> {
    if (!(await this.isTheirTurn(target.athleteId, waitMs))) return undefined;
    try {
      return await this.attempts.attempt(target, { class: 'live', waitMs });
    } catch (err) {
      this.logger.warn({ err, activity_id: target.id }, 'prompt stream fetch failed');
      return undefined;
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
