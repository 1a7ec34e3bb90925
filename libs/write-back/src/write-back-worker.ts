import {
  type BeforeApplicationShutdown,
  Inject,
  Injectable,
  type OnApplicationBootstrap,
} from '@nestjs/common';
import {
  type Config,
  CONFIG,
  DependencyUnavailable,
  LOGGER,
  type Logger,
  Loop,
  TIME_SCALE,
  type TimeScale,
} from '#platform';
import {
  CallUnwanted,
  LONGEST_STRAVA_CALL_MS,
  StravaBudgetUnavailable,
  StravaClient,
  StravaForbidden,
  StravaNotFound,
  StravaOutage,
  StravaRateLimited,
  StravaRequestRefused,
  StravaTokenRevoked,
  type Who,
} from '#strava';
import { whoseWords } from './words.js';
import { writeBacks } from './write-back-metrics.js';
import { type Claim, type End, WriteBackStore } from './write-back-store.js';

const SECOND_MS = 1_000;
const EVERY_MS = SECOND_MS;
const LEASE_MS = 60 * SECOND_MS;
// After the call comes the row.
const STORING_MS = 2 * SECOND_MS;
const NOBODY_COUNTS_MS = 60 * SECOND_MS;
const RETRY_AFTER_MS = 5 * 60 * SECOND_MS;
const MOST_ATTEMPTS = 5;
// Through a window's boundary.
const WAIT_MS = 5 * SECOND_MS;
const SCOPE = 'activity:write';

type Outcome =
  | { readonly kind: End; readonly reason: string | null }
  | { readonly kind: 'later'; readonly reason: string; readonly forMs: number; readonly counts: boolean }
  /** Another has taken over: nothing was sent, and nothing is to be said. */
  | { readonly kind: 'fenced' };

/**
 * Writes titles and descriptions to the vendor, each once. Before every call it looks what is there: where a person's words
 * are, they stay; where ours are, an earlier call has arrived although nobody knew. A call is made under a lease that outlives
 * it and never repeated blindly.
 */
@Injectable()
export class WriteBackWorker implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly loop: Loop;
  private readonly leaseMs: number;

  constructor(
    private readonly store: WriteBackStore,
    private readonly strava: StravaClient,
    @Inject(CONFIG) private readonly config: Config,
    @Inject(TIME_SCALE) private readonly scale: TimeScale,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {
    const everyMs = scale.sweep(EVERY_MS);
    this.leaseMs = Math.max(scale.guard(LEASE_MS), LONGEST_STRAVA_CALL_MS + WAIT_MS + STORING_MS);
    this.loop = new Loop('write back', async () => ((await this.runOnce()) ? 0 : everyMs), logger);
  }

  onApplicationBootstrap(): void {
    if (this.config.strava.writesBack) this.loop.start();
  }

  async beforeApplicationShutdown(): Promise<void> {
    if (this.config.strava.writesBack) await this.loop.stop();
  }

  /** Answers whether there was something to do. */
  async runOnce(): Promise<boolean> {
    const claim = await this.store.claim(this.leaseMs);
    if (!claim) return false;
    const outcome = await this.outcomeOf(claim);
    const isOurs = await this.record(claim, outcome);
    const result = isOurs ? outcome.kind : 'fenced';
    writeBacks.inc({ result });
    const reason = 'reason' in outcome ? outcome.reason : null;
    const { activity_id, athlete_id, attempts } = claim;
    this.logger.info({ activity_id, athlete_id, attempts, result, reason }, 'write back attempted');
    return true;
  }

  private async outcomeOf(claim: Claim): Promise<Outcome> {
    if (claim.scopes === null) return { kind: 'refused', reason: 'Strava is not connected' };
    if (!claim.scopes.includes(SCOPE))
      return { kind: 'refused', reason: `The connection to Strava lacks ${SCOPE}: connect it again` };
    if (claim.attempts > MOST_ATTEMPTS)
      return { kind: 'refused', reason: 'Given up: it could not be told whether Strava has it' };
    const progress = { isSent: false };
    try {
      return await this.write(claim, progress);
    } catch (error) {
      return this.failureOf(claim, error, progress.isSent);
    }
  }

  private async write(claim: Claim, progress: { isSent: boolean }): Promise<Outcome> {
    const { athlete_id: athleteId, external_activity_id: id, title: name, description } = claim;
    const ours = { name, description };
    // Nobody waits for it, but people look at what they have just uploaded: before the backfill, after those who wait.
    const who: Who = {
      athleteId,
      class: 'import',
      waitMs: WAIT_MS,
      claim: () => this.store.renew(claim, this.leaseMs),
    };
    switch (whoseWords(await this.strava.activity(who, id), claim.imported_name, ours)) {
      case 'theirs':
        return { kind: 'left', reason: 'The athlete has written their own title or description' };
      case 'untouched':
        progress.isSent = true;
        // Not after a wait, in which the athlete may find words of their own.
        await this.strava.updateActivity({ ...who, waitMs: 0 }, id, ours);
        return { kind: 'written', reason: null };
      case 'ours':
        return { kind: 'written', reason: null };
    }
  }

  private failureOf(claim: Claim, error: unknown, isSent: boolean): Outcome {
    if (error instanceof CallUnwanted) return { kind: 'fenced' };
    const reason = error instanceof Error ? error.message : String(error);
    if (error instanceof StravaRateLimited)
      return { kind: 'later', reason, forMs: error.retryAfterMs, counts: false };
    if (error instanceof StravaBudgetUnavailable)
      return { kind: 'later', reason, forMs: this.scale.wait(NOBODY_COUNTS_MS), counts: false };
    if (error instanceof StravaNotFound) return { kind: 'left', reason };
    if (
      error instanceof StravaForbidden ||
      error instanceof StravaTokenRevoked ||
      error instanceof StravaRequestRefused
    )
      return { kind: 'refused', reason };
    // No answer, or none that can be read: the next attempt looks whether it has arrived. An outage in which nothing was sent may
    // last as long as it likes.
    this.logger.warn({ err: error, activity_id: claim.activity_id }, 'write back without a clear answer');
    const counts = isSent || !(error instanceof StravaOutage || error instanceof DependencyUnavailable);
    return { kind: 'later', reason, forMs: this.scale.wait(RETRY_AFTER_MS), counts };
  }

  private record(claim: Claim, outcome: Outcome): Promise<boolean> {
    switch (outcome.kind) {
      case 'fenced':
        return Promise.resolve(false);
      case 'later':
        return this.store.postpone(claim, outcome.reason, outcome.forMs, outcome.counts);
      case 'written':
      case 'left':
      case 'refused':
        return this.store.finish(claim, outcome.kind, outcome.reason);
    }
  }
}
