import { type BeforeApplicationShutdown, Inject, Injectable } from '@nestjs/common';
import { Counter, Histogram } from 'prom-client';
import {
  DependencyUnavailable,
  describeSpan,
  fenceRejected,
  inSpan,
  LOGGER,
  type Logger,
  requestIdField,
  startAtZero,
} from '#platform';
import { Budgets, type CallClass } from '#rate-limit';
import { type CallContext, type CallOutcome, type RawStreams, Sources, type VendorId } from '#vendors';
import { type FetchClaim, type FetchStatus, StreamFetches } from '../lifecycle/stream-fetches.js';
import { FetchOutcomes, type WrittenOutcome } from './fetch-outcomes.js';

const attempts = new Counter({
  name: 'stream_fetch_attempts_total',
  help: 'Attempts to fetch streams by outcome; `fenced`: the claim was lost and nothing was written',
  labelNames: ['result'],
});
startAtZero(
  attempts,
  ['success', 'failed', 'deferred', 'unavailable', 'fenced'].map((result) => ({ result })),
);
startAtZero(fenceRejected, [{ kind: 'stream_fetch' }]);

const duration = new Histogram({
  name: 'stream_fetch_duration_seconds',
  help: 'From the claim to the stored row',
  buckets: [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
});

export interface FetchTarget {
  readonly id: string;
  readonly athleteId: string;
  readonly provider: VendorId;
  readonly externalActivityId: string;
  /** The request that led to this attempt, for the log line. */
  readonly requestId?: string | null;
}

interface FetchContext {
  readonly class: CallClass;
  /** How long the call may wait for a slot or for the next window. */
  readonly waitMs: number;
}

export type AttemptOutcome =
  /** `retryAfterMs`: during this time, attempts for other activities are refused too. */
  | {
      readonly kind: 'ended';
      readonly status: FetchStatus;
      readonly isOutage: boolean;
      readonly retryAfterMs?: number;
    }
  /** The claim was lost before the write: nothing was written. */
  | { readonly kind: 'fenced' }
  /** In this and the following kinds the attempt did not begin, and the row is unchanged. */
  | { readonly kind: 'unclaimed' }
  | { readonly kind: 'notNow'; readonly retryAfterMs: number }
  | { readonly kind: 'budgetUnavailable' }
  | { readonly kind: 'impossible'; readonly reason: string };

/** The call of an attempt after an upload. Near a window boundary, or while all slots are taken, it waits for its permit. */
const AFTER_UPLOAD: FetchContext = { class: 'live', waitMs: 10_000 };

interface HeldClaim {
  readonly claim: FetchClaim;
  readonly sinceMs: number;
}

/**
 * Makes one attempt to fetch an activity's streams, in this order: permit, claim, vendor call, write of the row. A refused
 * attempt changes nothing. No claim is held while waiting for a permit. There is no retry here: the row says when the next attempt
 * may begin (docs/stream-lifecycle.md). If the process dies after the claim, the row stays `fetching` until the cleanup.
 */
@Injectable()
export class StreamAttempts implements BeforeApplicationShutdown {
  private readonly underWay = new Set<Promise<unknown>>();

  constructor(
    private readonly fetches: StreamFetches,
    private readonly outcomes: FetchOutcomes,
    private readonly sources: Sources,
    private readonly budgets: Budgets,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  /** Waits for calls under way: their permits are spent, so their answers are stored before the process ends. */
  async beforeApplicationShutdown(): Promise<void> {
    await Promise.allSettled(this.underWay);
  }

  attempt(target: FetchTarget, context: FetchContext): Promise<AttemptOutcome> {
    const run = () => this.run(target, context);
    const attempt = inSpan('stream fetch', 'INTERNAL', run).finally(() => this.underWay.delete(attempt));
    this.underWay.add(attempt);
    return attempt;
  }

  /**
   * Fetches the streams of a new activity at once, since the athlete is likely to look at the activity now. Tries once and never rejects:
   * if the attempt does not succeed, the backfill fetches the streams later.
   */
  async uploaded(target: FetchTarget): Promise<void> {
    try {
      await this.attempt(target, AFTER_UPLOAD);
    } catch (err) {
      this.logger.warn({ err, activity_id: target.id }, 'streams of an upload left to the backfill');
    }
  }

  private async run(target: FetchTarget, context: FetchContext): Promise<AttemptOutcome> {
    let held: HeldClaim | undefined;
    const claimOnce = async () => {
      if (held) return true;
      const claim = await this.fetches.claim(target.id);
      if (claim) held = { claim, sinceMs: performance.now() };
      return claim !== undefined;
    };
    const { athleteId } = target;
    try {
      const fetched = await this.fetch(target, { athleteId, ...context, claim: claimOnce });
      if (!held) return this.withoutClaim(fetched);
      const { claim, sinceMs } = held;
      const written = await this.outcomes.write(claim, target.provider, fetched);
      await this.record(target, { claim, sinceMs }, written);
      return written ? outcomeOf(fetched, written.status) : { kind: 'fenced' };
    } catch (error) {
      if (held) await this.failInternally(target, held, error);
      throw error;
    }
  }

  private async fetch(target: FetchTarget, context: CallContext): Promise<CallOutcome<RawStreams>> {
    try {
      return await this.sources.streams(target.provider).streams(context, target.externalActivityId);
    } catch (error) {
      // An outage of our own servers is no failure of this activity.
      if (!(error instanceof DependencyUnavailable)) throw error;
      const retryAfterMs = error.retryAfterSeconds * 1_000;
      return { kind: 'notNow', because: 'budgetUnavailable', retryAfterMs, reason: error.message };
    }
  }

  private withoutClaim(fetched: CallOutcome<RawStreams>): AttemptOutcome {
    switch (fetched.kind) {
      case 'notNow':
        if (fetched.because === 'unclaimed' || fetched.because === 'budgetUnavailable')
          return { kind: fetched.because };
        return { kind: 'notNow', retryAfterMs: fetched.retryAfterMs };
      case 'revoked':
      case 'refused':
      case 'broken':
        return { kind: 'impossible', reason: fetched.reason };
      case 'ok':
      case 'gone':
        throw new Error('the source called the vendor without a claim');
    }
  }

  /** Records an unexpected error as a failure. If this write fails too, the cleanup ends the attempt. */
  private async failInternally(target: FetchTarget, held: HeldClaim, cause: unknown): Promise<void> {
    try {
      await this.record(target, held, await this.outcomes.failed(held.claim, 'An internal error'));
    } catch (err) {
      this.logger.warn({ err, cause, activity_id: target.id }, 'broken stream fetch left to the cleanup');
    }
  }

  private async record(
    { id, athleteId, provider, requestId }: FetchTarget,
    { claim, sinceMs }: HeldClaim,
    written?: WrittenOutcome,
  ): Promise<void> {
    const durationMs = performance.now() - sinceMs;
    const status = written?.status ?? 'fenced';
    attempts.inc({ result: status });
    describeSpan({ 'stream.result': status });
    duration.observe(durationMs / 1_000);
    if (!written) fenceRejected.inc({ kind: 'stream_fetch' });
    const isStored = written?.status === 'success';
    this.logger.info(
      {
        activity_id: id,
        athlete_id: athleteId,
        ...requestIdField(requestId),
        status,
        channels_fetched: isStored ? written.channels : [],
        point_count: isStored ? written.pointCount : 0,
        error: written && 'error' in written ? written.error : null,
        retry_count: claim.retry_count + (status === 'failed' ? 1 : 0),
        duration_ms: Math.round(durationMs),
        rate_budget_remaining: await this.callsLeft(id, provider),
      },
      'stream fetch attempted',
    );
  }

  /** In the fullest window. Only the log line needs this number, so an error here does not fail the attempt. */
  private async callsLeft(activityId: string, provider: VendorId): Promise<number | null> {
    try {
      const gauges = await this.budgets.of(provider).gauges();
      return gauges.length > 0 ? Math.min(...gauges.map(({ remaining }) => remaining)) : null;
    } catch (err) {
      this.logger.warn({ err, activity_id: activityId }, 'remaining rate budget unknown');
      return null;
    }
  }
}

function outcomeOf(fetched: CallOutcome<RawStreams>, status: FetchStatus): AttemptOutcome {
  const isOutage = fetched.kind === 'broken' && fetched.because === 'outage';
  const retryAfterMs = fetched.kind === 'notNow' ? fetched.retryAfterMs : undefined;
  return { kind: 'ended', status, isOutage, retryAfterMs };
}
