import { Inject, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { Counter } from 'prom-client';
import {
  CONFIG,
  DependencyUnavailable,
  LOGGER,
  type Logger,
  TIME_SCALE,
  type TimeScale,
  type Worker,
  Workers,
} from '#platform';
import { BOUNDARY_WAIT_MS } from '#rate-limit';
import {
  type CallContext,
  type CallFailure,
  LONGEST_CALL_MS,
  type ProductConfig,
  Sources,
  VENDORS,
} from '#vendors';
import { authorOf } from './activity-text.js';
import {
  type WriteBackClaim,
  type WriteBackOutcome,
  WriteBackStore,
  writtenVendors,
} from './write-back-store.js';

const writeBacks = new Counter({
  name: 'write_backs_total',
  help: 'Attempts to write our words to the vendor, by how they ended',
  labelNames: ['result'],
});

const SECOND_MS = 1_000;
const EVERY_MS = SECOND_MS;
const LEASE_MS = 60 * SECOND_MS;
// The lease must also last while the row is written after the call.
const STORING_MS = 2 * SECOND_MS;
const BUDGET_AWAY_RETRY_MS = 60 * SECOND_MS;
const RETRY_AFTER_MS = 5 * 60 * SECOND_MS;
const MOST_ATTEMPTS = 5;

type AttemptResult =
  | { readonly kind: WriteBackOutcome; readonly reason: string | null }
  | { readonly kind: 'notNow'; readonly reason: string; readonly forMs: number; readonly counts: boolean }
  /** Another worker has taken over. This worker sent no write and records nothing. */
  | { readonly kind: 'fenced' };

/**
 * Writes titles and descriptions to the vendor. Before each write the worker reads the activity. The worker keeps the athlete's own text.
 * If the vendor already has our text, an earlier write has arrived and its answer was lost. The lease lasts longer than the longest call.
 *
 * | failure                                    | next attempt             | counts |
 * | ------------------------------------------ | ------------------------ | ------ |
 * | no permit: a window is full                | when the window opens    | no     |
 * | the budget's state is unavailable          | 1 min                    | no     |
 * | outage before the write was sent           | 5 min                    | no     |
 * | no clear answer to the write, or a bug     | 5 min                    | yes    |
 *
 * After five counted attempts, 25 min in all, the write-back is `refused`. Not guaranteed: our write
 * overwrites an edit that the athlete makes between our read and our write.
 */
@Injectable()
export class WriteBackWorker implements OnApplicationBootstrap {
  private readonly worker: Worker<WriteBackClaim, AttemptResult>;

  constructor(
    private readonly store: WriteBackStore,
    private readonly sources: Sources,
    @Inject(CONFIG) private readonly config: ProductConfig,
    @Inject(TIME_SCALE) private readonly scale: TimeScale,
    workers: Workers,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {
    this.worker = workers.of<WriteBackClaim, AttemptResult>({
      name: 'write-backs',
      lease: { ms: LEASE_MS, atLeastMs: LONGEST_CALL_MS + BOUNDARY_WAIT_MS + STORING_MS },
      everyMs: EVERY_MS,
      claim: (leaseMs) => store.claim(leaseMs),
      renew: (claim, leaseMs) => store.renew(claim, leaseMs),
      run: (claim) => this.outcomeOf(claim),
      failed: (claim, err) => this.unclear(claim, { err, reason: reasonOf(err) }, true),
      settle: (claim, outcome) => this.settle(claim, outcome),
      about: ({ activity_id, athlete_id, attempts }) => ({ activity_id, athlete_id, attempts }),
    });
  }

  onApplicationBootstrap(): void {
    if (writtenVendors(this.config).length > 0) this.worker.start();
  }

  /** False if no write-back was due. */
  async runOnce(): Promise<boolean> {
    return (await this.worker.runOne()) !== undefined;
  }

  private async settle(claim: WriteBackClaim, outcome: AttemptResult): Promise<boolean> {
    const isOurs = await this.record(claim, outcome);
    const result = isOurs ? resultOf(outcome) : 'fenced';
    writeBacks.inc({ result });
    const reason = 'reason' in outcome ? outcome.reason : null;
    const { activity_id, athlete_id, attempts } = claim;
    this.logger.info({ activity_id, athlete_id, attempts, result, reason }, 'write back attempted');
    return isOurs;
  }

  private async outcomeOf(claim: WriteBackClaim): Promise<AttemptResult> {
    const { title, oauth } = VENDORS[claim.provider];
    if (claim.scopes === null) return { kind: 'refused', reason: `${title} is not connected` };
    const lacking = oauth.writeScopes?.find((scope) => !claim.scopes?.includes(scope));
    if (lacking !== undefined)
      return { kind: 'refused', reason: `The connection to ${title} lacks ${lacking}: connect it again` };
    if (claim.attempts > MOST_ATTEMPTS)
      return {
        kind: 'refused',
        reason: `Given up: it is unknown whether ${title} has the title and description`,
      };
    const progress = { isSent: false };
    try {
      return await this.write(claim, progress);
    } catch (err) {
      const counts = progress.isSent || !(err instanceof DependencyUnavailable);
      return this.unclear(claim, { err, reason: reasonOf(err) }, counts);
    }
  }

  private async write(claim: WriteBackClaim, progress: { isSent: boolean }): Promise<AttemptResult> {
    const { athlete_id: athleteId, external_activity_id: id, title: name, description } = claim;
    const ours = { name, description };
    // Class import: no athlete waits for a write-back. It goes before the backfill, because athletes look at their newest activity.
    const context: CallContext = {
      athleteId,
      class: 'import',
      waitMs: BOUNDARY_WAIT_MS,
      claim: () => this.store.renew(claim, this.worker.leaseMs),
    };
    const source = this.sources.activities(claim.provider);
    const activity = await source.activity(context, id);
    if (activity.kind !== 'ok') return this.afterFailure(claim, activity, false);
    switch (authorOf(activity.value, claim.imported_name, ours)) {
      case 'theirs':
        return { kind: 'left', reason: 'The athlete has written their own title or description' };
      case 'ours':
        return { kind: 'written', reason: null };
      case 'untouched': {
        if (!source.update)
          return { kind: 'refused', reason: 'The activities of this vendor cannot be changed' };
        progress.isSent = true;
        // The write does not wait for a permit, because the athlete could edit the activity during the wait.
        const written = await source.update({ ...context, waitMs: 0 }, id, ours);
        return written.kind === 'ok'
          ? { kind: 'written', reason: null }
          : this.afterFailure(claim, written, true);
      }
    }
  }

  private afterFailure(claim: WriteBackClaim, failure: CallFailure, isSent: boolean): AttemptResult {
    const { reason } = failure;
    switch (failure.kind) {
      case 'notNow': {
        if (failure.because === 'unclaimed') return { kind: 'fenced' };
        const forMs =
          failure.because === 'budgetUnavailable'
            ? this.scale.wait(BUDGET_AWAY_RETRY_MS)
            : failure.retryAfterMs;
        return { kind: 'notNow', reason, forMs, counts: false };
      }
      case 'gone':
        return { kind: 'left', reason };
      case 'revoked':
      case 'refused':
        return { kind: 'refused', reason };
      case 'broken':
        return this.unclear(claim, { reason }, isSent || failure.because === 'malformed');
    }
  }

  /** The vendor gave no answer or an unreadable one. The next attempt reads the activity to learn whether the write has arrived. */
  private unclear(
    { activity_id }: WriteBackClaim,
    cause: { readonly reason: string; readonly err?: unknown },
    counts: boolean,
  ): AttemptResult {
    this.logger.warn({ ...cause, activity_id }, 'write-back without a clear answer');
    return { kind: 'notNow', reason: cause.reason, forMs: this.scale.wait(RETRY_AFTER_MS), counts };
  }

  private record(claim: WriteBackClaim, outcome: AttemptResult): Promise<boolean> {
    switch (outcome.kind) {
      case 'fenced':
        return Promise.resolve(false);
      case 'notNow':
        return this.store.postpone(claim, outcome.reason, outcome.forMs, outcome.counts);
      case 'written':
      case 'left':
      case 'refused':
        return this.store.finish(claim, outcome.kind, outcome.reason);
    }
  }
}

/** The label of the metric and the log: a postponed write-back is `later`. */
function resultOf({ kind }: AttemptResult): string {
  return kind === 'notNow' ? 'later' : kind;
}

const reasonOf = (err: unknown): string => (err instanceof Error ? err.message : String(err));
