import { type BeforeApplicationShutdown, Inject, Injectable } from '@nestjs/common';
import { fenceRejected, LOGGER, type Logger, TIME_SCALE, type TimeScale } from '#platform';
import { type CallClass } from '#rate-limit';
import { type Claim, type FetchStatus } from '../lifecycle/fetch-state.js';
import { DEFER_MS } from '../lifecycle/retry-policy.js';
import { StreamFetches } from '../lifecycle/stream-fetches.js';
import { attempts, duration } from './metrics.js';
import { type Ending, StreamEndings } from './stream-endings.js';
import { type Fetched, STREAM_SOURCE, type StreamSource } from './stream-source.js';

export interface Target {
  readonly id: string;
  readonly athleteId: string;
  readonly externalActivityId: string;
}

export interface Manner {
  readonly class: CallClass;
  /** How long the call may wait in place for a slot or through a boundary. */
  readonly waitMs: number;
}

export type AttemptOutcome =
  /** `retryAfterMs`: others would fare the same until then. */
  | {
      readonly kind: 'ended';
      readonly status: FetchStatus;
      readonly isOutage: boolean;
      readonly retryAfterMs?: number;
    }
  /** Another had taken over by then: nothing was written. */
  | { readonly kind: 'fenced' }
  /** The others did not begin: the row is as it was. */
  | { readonly kind: 'unclaimed' }
  | { readonly kind: 'later'; readonly retryAfterMs: number }
  | { readonly kind: 'unmetered' }
  | { readonly kind: 'impossible'; readonly reason: string };

interface Held {
  readonly claim: Claim;
  readonly sinceMs: number;
}

/**
 * One attempt to fetch an activity's streams. The budget's leave comes first, then the claim, then the call: a refused
 * attempt has changed nothing, and nobody holds a claim while they wait.
 */
@Injectable()
export class StreamAttempts implements BeforeApplicationShutdown {
  private readonly underWay = new Set<Promise<unknown>>();

  constructor(
    private readonly fetches: StreamFetches,
    private readonly endings: StreamEndings,
    @Inject(STREAM_SOURCE) private readonly source: StreamSource,
    @Inject(TIME_SCALE) private readonly scale: TimeScale,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  /** A call that has been made is paid for: its answer is stored before the process ends. */
  async beforeApplicationShutdown(): Promise<void> {
    await Promise.allSettled(this.underWay);
  }

  attempt(target: Target, manner: Manner): Promise<AttemptOutcome> {
    const attempt = this.run(target, manner).finally(() => this.underWay.delete(attempt));
    this.underWay.add(attempt);
    return attempt;
  }

  private async run(target: Target, manner: Manner): Promise<AttemptOutcome> {
    let held: Held | undefined;
    const take = async () => {
      if (held) return true;
      const claim = await this.fetches.claim(target.id);
      if (claim) held = { claim, sinceMs: performance.now() };
      return claim !== undefined;
    };
    const { athleteId, externalActivityId } = target;
    try {
      const fetched = await this.source.fetch({ athleteId, externalActivityId, ...manner, claim: take });
      if (!held) return this.notBegun(fetched);
      const { claim, sinceMs } = held;
      const ending = await this.endings.write(claim, fetched);
      await this.tell(target, { claim, sinceMs }, ending);
      return ending ? endedBy(fetched, ending.status) : { kind: 'fenced' };
    } catch (error) {
      if (held) await this.breakOff(target, held, error);
      throw error;
    }
  }

  private notBegun(fetched: Fetched): AttemptOutcome {
    switch (fetched.kind) {
      case 'later':
        return { kind: 'later', retryAfterMs: fetched.retryAfterMs ?? this.scale.wait(DEFER_MS) };
      case 'disconnected':
      case 'failed':
        return { kind: 'impossible', reason: fetched.reason };
      case 'unmetered':
      case 'unclaimed':
        return { kind: fetched.kind };
      case 'answered':
      case 'none':
        throw new Error('the source asked the vendor without a claim');
    }
  }

  /** Of a kind that nobody has foreseen. Where it cannot be written either, the cleanup finds it. */
  private async breakOff(target: Target, held: Held, cause: unknown): Promise<void> {
    try {
      await this.tell(target, held, await this.endings.failed(held.claim, 'An internal error'));
    } catch (err) {
      this.logger.warn({ err, cause, activity_id: target.id }, 'broken stream fetch left to the cleanup');
    }
  }

  private async tell({ id, athleteId }: Target, { claim, sinceMs }: Held, ending?: Ending): Promise<void> {
    const durationMs = performance.now() - sinceMs;
    const status = ending?.status ?? 'fenced';
    attempts.inc({ result: status });
    duration.observe(durationMs / 1_000);
    if (!ending) fenceRejected.inc({ kind: 'stream_fetch' });
    const isStored = ending?.status === 'success';
    this.logger.info(
      {
        activity_id: id,
        athlete_id: athleteId,
        status,
        channels_fetched: isStored ? ending.channels : [],
        point_count: isStored ? ending.pointCount : 0,
        error: ending && 'error' in ending ? ending.error : null,
        retry_count: claim.retry_count + (status === 'failed' ? 1 : 0),
        duration_ms: Math.round(durationMs),
        rate_budget_remaining: await this.budgetRemaining(id),
      },
      'stream fetch attempted',
    );
  }

  /** For the line alone: what has been written stands without it. */
  private async budgetRemaining(activityId: string): Promise<number | null> {
    try {
      return await this.source.budgetRemaining();
    } catch (err) {
      this.logger.warn({ err, activity_id: activityId }, 'budget not told');
      return null;
    }
  }
}

function endedBy(fetched: Fetched, status: FetchStatus): AttemptOutcome {
  const isOutage = fetched.kind === 'failed' && fetched.isOutage === true;
  const retryAfterMs = fetched.kind === 'later' ? fetched.retryAfterMs : undefined;
  return { kind: 'ended', status, isOutage, retryAfterMs };
}
