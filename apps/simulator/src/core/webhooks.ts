import { type VendorClock } from './clock.js';
import { withDeadline } from './deadline.js';
import { type Faults } from './faults.js';
import { type Judge } from './judge.js';
import { postBytes } from './post-bytes.js';
import { type Vendor } from './vendors.js';

export interface Delivery {
  readonly vendor: Vendor;
  readonly url: string;
  /** Sent as they are; `headersFor` signs exactly these. */
  readonly body: Buffer;
  /** Asked before every attempt, the first being 1, so that a vendor may or may not sign anew. */
  readonly headersFor?: (attempt: number, body: Buffer) => Record<string, string>;
  readonly ackTimeoutMs: number;
  /** Unscaled pauses before the second, third … attempt; their number is the number of retries. */
  readonly retryDelaysMs: readonly number[];
  readonly isAck: (status: number) => boolean;
  /** Sees the outcome of each attempt, `undefined` for no answer; `'stop'` ends the retries. */
  readonly onOutcome?: (status: number | undefined) => 'stop' | void;
}

// A reordered event waits for the next one, but not for ever: it may be the last.
const LONGEST_HOLD_MS = 60_000;
const DEFAULT_DELAY_MS = 5_000;

/** Sends events as vendors do: now, again after a pause, and then never more. */
export class Outbox {
  private readonly held = new Map<Vendor, { delivery: Delivery; cancel: () => void }>();
  private readonly waiting = new Set<() => void>();
  private readonly running = new Set<AbortController>();
  /** Grows with each reset: what began before has no consequences after. */
  private era = 0;

  constructor(
    private readonly clock: VendorClock,
    private readonly judge: Judge,
    private readonly faults: Faults,
  ) {}

  send(delivery: Delivery): void {
    const fault = this.faults.forWebhook(delivery.vendor);
    if (fault?.kind === 'reorder') return this.hold(delivery);
    if (fault?.kind === 'drop') this.judge.webhook(delivery.vendor, 'dropped');
    else if (fault?.kind === 'slow')
      this.later(fault.delay_ms ?? DEFAULT_DELAY_MS, () => this.attempt(delivery, 1));
    else this.attempt(delivery, 1);
    if (fault?.kind === 'double') this.attempt(delivery, 1);
    this.release(delivery.vendor);
  }

  /** Attempts on the wire at this moment. */
  get underWay(): number {
    return this.running.size;
  }

  /** Forgets all that is waiting and cuts what is under way. */
  reset(): void {
    this.era++;
    this.held.forEach(({ cancel }) => cancel());
    this.held.clear();
    this.waiting.forEach((cancel) => cancel());
    this.waiting.clear();
    this.running.forEach((controller) => controller.abort());
  }

  private hold(delivery: Delivery): void {
    this.release(delivery.vendor);
    const cancel = this.clock.after(this.clock.scaledMs(LONGEST_HOLD_MS), () =>
      this.release(delivery.vendor),
    );
    this.held.set(delivery.vendor, { delivery, cancel });
  }

  private release(vendor: Vendor): void {
    const held = this.held.get(vendor);
    if (!held) return;
    this.held.delete(vendor);
    held.cancel();
    this.attempt(held.delivery, 1);
  }

  private attempt(delivery: Delivery, attempt: number): void {
    this.judge.webhook(delivery.vendor, attempt === 1 ? 'sent' : 'retried');
    const { era } = this;
    void this.post(delivery, attempt).then((status) => {
      if (era === this.era) this.settle(delivery, attempt, status);
    });
  }

  /** The status, or undefined when none came in time. */
  private async post(
    { url, body, headersFor, ackTimeoutMs }: Delivery,
    attempt: number,
  ): Promise<number | undefined> {
    const headers = { 'content-type': 'application/json', ...headersFor?.(attempt, body) };
    const stopped = new AbortController();
    this.running.add(stopped);
    try {
      return await withDeadline(this.clock, ackTimeoutMs, (late) =>
        postBytes(url, body, headers, AbortSignal.any([late, stopped.signal])),
      );
    } catch {
      return undefined;
    } finally {
      this.running.delete(stopped);
    }
  }

  private settle(delivery: Delivery, attempt: number, status: number | undefined): void {
    const verdict = delivery.onOutcome?.(status);
    if (status !== undefined && delivery.isAck(status)) return this.judge.webhook(delivery.vendor, 'acked');
    const delayMs = delivery.retryDelaysMs[attempt - 1];
    if (verdict === 'stop' || delayMs === undefined) return this.judge.webhook(delivery.vendor, 'failed');
    this.later(delayMs, () => this.attempt(delivery, attempt + 1));
  }

  private later(delayMs: number, run: () => void): void {
    const cancel = this.clock.after(this.clock.scaledMs(delayMs), () => {
      this.waiting.delete(cancel);
      run();
    });
    this.waiting.add(cancel);
  }
}
