import { Histogram } from 'prom-client';
import { LineLimit } from '../logging/line-limit.js';
import { type Logger } from '../logging/logger.js';
import { type Clock } from './clock.js';

const LINE_EVERY_MS = 60_000;
const DAY_S = 86_400;
// A signer may write any number as its time, and the metric's sum must stay finite.
const MOST_SECONDS = 365 * DAY_S;

const refused = new Histogram({
  name: 'signed_time_refusals_seconds',
  help: 'Requests with a valid signature that were refused for their time, by its difference from our clock',
  labelNames: ['signer', 'clock'],
  buckets: [60, 600, 3_600, DAY_S],
});

/** How much earlier or later than now a time may be. */
interface Tolerance {
  readonly earlierMs: number;
  readonly laterMs: number;
}

/**
 * Compares the times that others have signed with the clock of this process. A refusal is counted with its difference. One line a minute is
 * logged for each signer. Without them, nothing would tell an operator that a clock is wrong.
 *
 * Call it only after the signature is checked. One refusal does not prove that a clock is wrong, because a request that somebody has
 * captured and sends again is refused, too. Refusals that all have the same difference prove it.
 */
export class SignedTimes {
  private readonly lines: ReadonlyMap<string, LineLimit>;

  constructor(
    signers: readonly string[],
    private readonly clock: Clock,
    private readonly logger: Logger,
  ) {
    this.lines = new Map(signers.map((signer) => [signer, new LineLimit(LINE_EVERY_MS)]));
    for (const signer of signers)
      for (const state of ['ahead', 'behind']) refused.zero({ signer, clock: state });
  }

  accepts(signer: string, signedAtMs: number, { earlierMs, laterMs }: Tolerance): boolean {
    const aheadMs = this.clock.nowMs() - signedAtMs;
    if (aheadMs <= earlierMs && -aheadMs <= laterMs) return true;
    const seconds = Math.min(MOST_SECONDS, Math.abs(aheadMs) / 1_000);
    const clock = aheadMs > 0 ? 'ahead' : 'behind';
    refused.observe({ signer, clock }, seconds);
    const unlogged = this.lines.get(signer)?.admit();
    if (unlogged !== undefined)
      this.logger.warn(
        { signer, clock, seconds: Math.round(seconds), ...(unlogged > 0 && { unlogged }) },
        'a signature is valid, but its time is too far from the clock of this process',
      );
    return false;
  }
}
