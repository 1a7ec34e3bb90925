import { Inject, Injectable } from '@nestjs/common';
import { Clock, inSpan, TIME_SCALE, type TimeScale } from '#platform';
import { type CallOutcome, type RawStreams, type VendorId } from '#vendors';
import { type FetchClaim, StreamFetches } from '../lifecycle/stream-fetches.js';
import { DEFER_MS, EMPTY_AFTER_MS } from '../lifecycle/retry-policy.js';
import { encode } from '../reading/answer.js';
import { readRecording, type Recording, RecordingMalformed } from '../recording/recording.js';

const BUDGET_UNAVAILABLE = 'Rate-limit state is unavailable; the streams are fetched later';

/** The outcome of an attempt as it was written. */
export type WrittenOutcome =
  | { readonly status: 'success'; readonly channels: readonly string[]; readonly pointCount: number }
  | { readonly status: 'failed' | 'deferred'; readonly error: string }
  | { readonly status: 'unavailable' };

/**
 * Writes the outcome of an attempt. If the claim was lost, it writes nothing and returns undefined.
 *
 * | outcome of the fetch                                   | state written                                        |
 * | ------------------------------------------------------ | ---------------------------------------------------- |
 * | valid streams                                          | success                                              |
 * | no streams of a fresh upload¹                          | deferred by 5, 15, 45 min (65 min in all), then unavailable |
 * | no streams of any other activity                       | unavailable                                          |
 * | notNow                                                 | deferred until the vendor's time                     |
 * | revoked, the budget is unavailable                     | deferred by 15 min                                   |
 * | refused, broken, malformed streams                     | failed; one attempt is used                          |
 *
 * ¹ The activity ended less than 24 h ago, or the event of its creation arrived less than 24 h ago.
 */
@Injectable()
export class FetchOutcomes {
  constructor(
    private readonly fetches: StreamFetches,
    private readonly clock: Clock,
    @Inject(TIME_SCALE) private readonly scale: TimeScale,
  ) {}

  write(
    claim: FetchClaim,
    provider: VendorId,
    fetched: CallOutcome<RawStreams>,
  ): Promise<WrittenOutcome | undefined> {
    switch (fetched.kind) {
      case 'ok':
        return this.answered(claim, provider, fetched.value);
      case 'gone':
        return this.withoutStreams(claim);
      case 'notNow':
        if (fetched.because === 'unclaimed')
          throw new Error('the source answered "unclaimed" although the claim was granted');
        return fetched.because === 'budgetUnavailable'
          ? this.deferred(claim, BUDGET_UNAVAILABLE, this.scale.wait(DEFER_MS))
          : this.deferred(claim, fetched.reason, fetched.retryAfterMs);
      case 'revoked':
        return this.deferred(claim, fetched.reason, this.scale.wait(DEFER_MS));
      case 'refused':
      case 'broken':
        return this.failed(claim, fetched.reason);
    }
  }

  async failed(claim: FetchClaim, error: string): Promise<WrittenOutcome | undefined> {
    return (await this.fetches.fail(claim, error)) ? { status: 'failed', error } : undefined;
  }

  private async answered(
    claim: FetchClaim,
    provider: VendorId,
    raw: RawStreams,
  ): Promise<WrittenOutcome | undefined> {
    let recording: Recording | undefined;
    try {
      recording = readRecording(raw);
    } catch (error) {
      if (error instanceof RecordingMalformed) return this.failed(claim, error.message);
      throw error;
    }
    return recording ? this.store(claim, provider, recording) : this.withoutStreams(claim);
  }

  private async store(
    claim: FetchClaim,
    provider: VendorId,
    recording: Recording,
  ): Promise<WrittenOutcome | undefined> {
    const fetchedAt = new Date(this.clock.nowMs());
    const stored = await encode(claim.id, provider, fetchedAt, recording);
    const succeed = () => this.fetches.succeed(claim, provider, fetchedAt, stored);
    const isWritten = await inSpan('stream store', 'INTERNAL', succeed);
    const { channels, pointCount } = stored;
    return isWritten ? { status: 'success', channels, pointCount } : undefined;
  }

  /** A fresh upload is tried again at most three times. Any other activity without streams becomes `unavailable`. */
  private async withoutStreams(claim: FetchClaim): Promise<WrittenOutcome | undefined> {
    const afterMs = claim.is_fresh ? EMPTY_AFTER_MS[claim.empty_count] : undefined;
    if (afterMs === undefined)
      return (await this.fetches.giveUp(claim)) ? { status: 'unavailable' } : undefined;
    const error = 'The vendor has no streams of this new activity yet';
    const deferral = { reason: error, forMs: this.scale.wait(afterMs), isEmpty: true };
    return (await this.fetches.defer(claim, deferral)) ? { status: 'deferred', error } : undefined;
  }

  private async deferred(
    claim: FetchClaim,
    error: string,
    forMs: number,
  ): Promise<WrittenOutcome | undefined> {
    const deferral = { reason: error, forMs, isEmpty: false };
    return (await this.fetches.defer(claim, deferral)) ? { status: 'deferred', error } : undefined;
  }
}
