import { Inject, Injectable } from '@nestjs/common';
import { Clock, TIME_SCALE, type TimeScale } from '#platform';
import { type Claim } from '../lifecycle/fetch-state.js';
import { DEFER_MS, EMPTY_AFTER_MS } from '../lifecycle/retry-policy.js';
import { StreamFetches } from '../lifecycle/stream-fetches.js';
import { encode } from '../reading/answer.js';
import { readRecording, type Recording, RecordingMalformed } from '../recording/recording.js';
import { type Fetched, STREAM_SOURCE, type StreamSource } from './stream-source.js';

/** How an attempt ended, as it has been written. */
export type Ending =
  | { readonly status: 'success'; readonly channels: readonly string[]; readonly pointCount: number }
  | { readonly status: 'failed' | 'deferred'; readonly error: string }
  | { readonly status: 'unavailable' };

/** Writes what came of an attempt. Each answers nothing where the claim is over: then nothing was written. */
@Injectable()
export class StreamEndings {
  constructor(
    private readonly fetches: StreamFetches,
    private readonly clock: Clock,
    @Inject(STREAM_SOURCE) private readonly source: StreamSource,
    @Inject(TIME_SCALE) private readonly scale: TimeScale,
  ) {}

  write(claim: Claim, fetched: Fetched): Promise<Ending | undefined> {
    switch (fetched.kind) {
      case 'answered':
        return this.answered(claim, fetched.channels);
      case 'none':
        return this.without(claim);
      case 'later':
        return this.deferred(claim, fetched.reason, fetched.retryAfterMs ?? this.scale.wait(DEFER_MS));
      case 'disconnected':
        return this.deferred(claim, fetched.reason, this.scale.wait(DEFER_MS));
      case 'unmetered':
        return this.deferred(claim, 'The budget cannot be asked', this.scale.wait(DEFER_MS));
      case 'failed':
        return this.failed(claim, fetched.reason);
      case 'unclaimed':
        throw new Error('the source did not believe the claim');
    }
  }

  async failed(claim: Claim, error: string): Promise<Ending | undefined> {
    return (await this.fetches.fail(claim, error)) ? { status: 'failed', error } : undefined;
  }

  private async answered(claim: Claim, raw: Readonly<Record<string, unknown>>): Promise<Ending | undefined> {
    let recording: Recording | undefined;
    try {
      recording = readRecording(raw);
    } catch (error) {
      if (error instanceof RecordingMalformed) return this.failed(claim, error.message);
      throw error;
    }
    return recording ? this.store(claim, recording) : this.without(claim);
  }

  private async store(claim: Claim, recording: Recording): Promise<Ending | undefined> {
    const fetchedAt = new Date(this.clock.nowMs());
    const stored = await encode(claim.id, this.source.name, fetchedAt, recording);
    const isOurs = await this.fetches.succeed(claim, this.source.name, fetchedAt, stored);
    const { channels, pointCount } = stored;
    return isOurs ? { status: 'success', channels, pointCount } : undefined;
  }

  /** Not yet, for a fresh upload that has been looked at a few times at most; else never. */
  private async without(claim: Claim): Promise<Ending | undefined> {
    const afterMs = claim.is_fresh ? EMPTY_AFTER_MS[claim.empty_count] : undefined;
    if (afterMs === undefined)
      return (await this.fetches.giveUp(claim)) ? { status: 'unavailable' } : undefined;
    const error = 'The vendor has no streams of this new activity yet';
    const deferral = { reason: error, forMs: this.scale.wait(afterMs), isEmpty: true };
    return (await this.fetches.defer(claim, deferral)) ? { status: 'deferred', error } : undefined;
  }

  private async deferred(claim: Claim, error: string, forMs: number): Promise<Ending | undefined> {
    const deferral = { reason: error, forMs, isEmpty: false };
    return (await this.fetches.defer(claim, deferral)) ? { status: 'deferred', error } : undefined;
  }
}
