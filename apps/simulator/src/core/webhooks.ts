import { type VendorClock } from './clock.js';
import { withDeadline } from './deadline.js';
import { type Faults } from './faults.js';
import { type Judge } from './judge.js';
import { type Part } from './memory.js';
import { postBytes } from './post-bytes.js';
import { type Vendor } from './vendors.js';

/** One event on its way. Plain data, so that it outlives the process. */
export interface Delivery {
  readonly vendor: Vendor;
  readonly url: string;
  /** Sent as it is; `headersFor` signs exactly these bytes. */
  readonly body: string;
  readonly firstSentAtMs: number;
  readonly subscriptionId?: string;
}

/** How a vendor delivers: asked anew at every attempt. */
export interface Courier {
  /** For what is about to be sent, the first attempt being 1: a vendor may or may not sign anew. */
  headersFor(delivery: Delivery): Record<string, string>;
  /** What attempt number `attempt` carries, for vendors that may change the body between attempts. */
  bodyFor?(delivery: Delivery, attempt: number): string;
  isAck(status: number): boolean;
  ackTimeoutMs(): number;
  /** Unscaled pauses before the second, third … attempt; their number is the number of retries. */
  retryDelaysMs(): readonly number[];
  /** Sees the outcome of each attempt, `undefined` for no answer; `'stop'` ends the retries. */
  onOutcome?(delivery: Delivery, status: number | undefined): 'stop' | void;
}

/** An attempt that is due, or on the wire. */
interface Pending {
  readonly delivery: Delivery;
  readonly attempt: number;
  readonly dueAtMs: number;
}

// A reordered event waits for the next one, but not for ever: it may be the last.
const LONGEST_HOLD_MS = 60_000;
const DEFAULT_DELAY_MS = 5_000;

/** Sends events as vendors do: now, again after a pause, and then never more. */
export class Outbox implements Part<readonly Pending[]> {
  private readonly couriers = new Map<Vendor, Courier>();
  private readonly held = new Map<Vendor, Pending>();
  /** Everything not yet settled, with what takes it back. */
  private readonly pending = new Map<Pending, () => void>();
  private readonly running = new Set<AbortController>();
  /** Grows with each stop: what began before has no consequences after. */
  private era = 0;

  constructor(
    private readonly clock: VendorClock,
    private readonly judge: Judge,
    private readonly faults: Faults,
  ) {}

  employ(vendor: Vendor, courier: Courier): void {
    this.couriers.set(vendor, courier);
  }

  send(order: Omit<Delivery, 'firstSentAtMs'>): void {
    const delivery = { ...order, firstSentAtMs: this.clock.nowMs() };
    const { vendor } = delivery;
    const fault = this.faults.forWebhook(vendor);
    if (fault?.kind === 'reorder') return this.hold(delivery);
    if (fault?.kind === 'double') this.attempt(delivery, 1);
    if (fault?.kind === 'drop') this.judge.webhook(vendor, 'dropped');
    else if (fault?.kind === 'slow') this.later(delivery, 1, fault.delay_ms ?? DEFAULT_DELAY_MS);
    // Only an event that has arrived has overtaken the held one.
    else return this.attempt(delivery, 1, () => this.release(vendor));
    this.release(vendor);
  }

  /** Attempts on the wire at this moment. */
  get underWay(): number {
    return this.running.size;
  }

  /** Cuts what is under way and lets nothing more out. What was pending can still be saved. */
  stop(): void {
    this.era++;
    this.pending.forEach((cancel) => cancel());
    this.running.forEach((controller) => controller.abort());
  }

  /** Forgets all that is pending. */
  reset(): void {
    this.stop();
    this.held.clear();
    this.pending.clear();
  }

  save(): readonly Pending[] {
    return [...this.pending.keys()];
  }

  /** What was on the wire goes out once more: nobody saw whether it arrived. */
  restore(saved: readonly Pending[]): void {
    for (const pending of saved) this.schedule(pending);
  }

  private hold(delivery: Delivery): void {
    this.release(delivery.vendor);
    const dueAtMs = this.clock.nowMs() + this.clock.scaledMs(LONGEST_HOLD_MS);
    const pending = { delivery, attempt: 1, dueAtMs };
    this.held.set(delivery.vendor, pending);
    this.schedule(pending);
  }

  private release(vendor: Vendor): void {
    const held = this.held.get(vendor);
    if (!held) return;
    this.pending.get(held)?.();
    this.start(held);
  }

  private later(delivery: Delivery, attempt: number, delayMs: number): void {
    this.schedule({ delivery, attempt, dueAtMs: this.clock.nowMs() + this.clock.scaledMs(delayMs) });
  }

  private schedule(pending: Pending): void {
    const delayMs = Math.max(0, pending.dueAtMs - this.clock.nowMs());
    this.pending.set(
      pending,
      this.clock.after(delayMs, () => this.start(pending)),
    );
  }

  private start(pending: Pending): void {
    const { vendor } = pending.delivery;
    if (this.held.get(vendor) === pending) this.held.delete(vendor);
    this.pending.delete(pending);
    this.attempt(pending.delivery, pending.attempt);
  }

  private attempt(delivery: Delivery, attempt: number, then?: () => void): void {
    this.judge.webhook(delivery.vendor, attempt === 1 ? 'sent' : 'retried');
    const { era } = this;
    const onWire = { delivery, attempt, dueAtMs: this.clock.nowMs() };
    this.pending.set(onWire, () => undefined);
    void this.post(delivery, attempt).then((status) => {
      if (era !== this.era) return;
      this.pending.delete(onWire);
      this.settle(delivery, attempt, status);
      then?.();
    });
  }

  /** The status, or undefined when none came in time. */
  private async post(delivery: Delivery, attempt: number): Promise<number | undefined> {
    const courier = this.courierOf(delivery);
    const sent = { ...delivery, body: courier.bodyFor?.(delivery, attempt) ?? delivery.body };
    const headers = { 'content-type': 'application/json', ...courier.headersFor(sent) };
    const stopped = new AbortController();
    this.running.add(stopped);
    try {
      return await withDeadline(this.clock, courier.ackTimeoutMs(), (late) =>
        postBytes(sent.url, Buffer.from(sent.body), headers, AbortSignal.any([late, stopped.signal])),
      );
    } catch {
      return undefined;
    } finally {
      this.running.delete(stopped);
    }
  }

  private settle(delivery: Delivery, attempt: number, status: number | undefined): void {
    const courier = this.courierOf(delivery);
    const verdict = courier.onOutcome?.(delivery, status);
    if (status !== undefined && courier.isAck(status)) return this.judge.webhook(delivery.vendor, 'acked');
    const delayMs = courier.retryDelaysMs()[attempt - 1];
    if (verdict === 'stop' || delayMs === undefined) return this.judge.webhook(delivery.vendor, 'failed');
    this.later(delivery, attempt + 1, delayMs);
  }

  private courierOf({ vendor }: Delivery): Courier {
    return this.couriers.get(vendor)!;
  }
}
