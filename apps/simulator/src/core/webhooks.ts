import { type VendorClock, withDeadline } from './clock.js';
import { type Faults } from './faults.js';
import { type Judge } from './judge.js';
import { type StatePart } from './memory.js';
import { postBytes } from './post-bytes.js';
import { type Vendor } from './vendors.js';

/** One event to deliver. Plain data, so that it can be saved. */
export interface Delivery {
  readonly vendor: Vendor;
  readonly url: string;
  /** The exact bytes to send; `headersFor` signs them. */
  readonly body: string;
  readonly firstSentAtMs: number;
  readonly subscriptionId?: string;
}

/** A vendor's rules of delivery, called for each attempt. */
interface DeliveryPolicy {
  /** Headers of one attempt, with the signature. The vendor decides whether each attempt is signed anew. */
  headersFor(delivery: Delivery): Record<string, string>;
  /** Body of attempt number `attempt` (from 1), for vendors that change the body between attempts. */
  bodyFor?(delivery: Delivery, attempt: number): string;
  isAck(status: number): boolean;
  ackTimeoutMs(): number;
  /** Delays before the second, third … attempt, before TIME_SCALE. The length of the list is the number of retries. */
  retryDelaysMs(): readonly number[];
  /** Called after each attempt. `status` is undefined if no answer came. The return value `'stop'` ends the retries. */
  onOutcome?(delivery: Delivery, status: number | undefined): 'stop' | void;
}

/** An attempt that is due or in flight. */
interface Pending {
  readonly delivery: Delivery;
  readonly attempt: number;
  readonly dueAtMs: number;
}

// A reordered event waits for the next event. If no other event comes, it is sent after this time.
const LONGEST_HOLD_MS = 60_000;
const DEFAULT_DELAY_MS = 5_000;

/**
 * Delivers each event at once. A failed attempt is repeated after the delays of the vendor's policy. After the last delay
 * the event is lost. The outbox guarantees neither order nor exactly-once delivery. After a restart it repeats an attempt
 * that was in flight.
 */
export class Outbox implements StatePart<readonly Pending[]> {
  private readonly policies = new Map<Vendor, DeliveryPolicy>();
  private readonly held = new Map<Vendor, Pending>();
  /** All attempts that are due or in flight, each with the function that cancels its timer. */
  private readonly pending = new Map<Pending, () => void>();
  private readonly running = new Set<AbortController>();
  /** Each stop increments this number. The outbox ignores the result of an attempt with an older number. */
  private generation = 0;

  constructor(
    private readonly clock: VendorClock,
    private readonly judge: Judge,
    private readonly faults: Faults,
  ) {}

  register(vendor: Vendor, policy: DeliveryPolicy): void {
    this.policies.set(vendor, policy);
  }

  send(order: Omit<Delivery, 'firstSentAtMs'>): void {
    const delivery = { ...order, firstSentAtMs: this.clock.nowMs() };
    const { vendor } = delivery;
    const fault = this.faults.forWebhook(vendor);
    if (fault?.kind === 'reorder') return this.hold(delivery);
    if (fault?.kind === 'double') this.attempt(delivery, 1);
    if (fault?.kind === 'drop') this.judge.webhook(vendor, 'dropped');
    else if (fault?.kind === 'slow') this.later(delivery, 1, fault.delay_ms ?? DEFAULT_DELAY_MS);
    // The held event goes out after the first attempt of this event has ended, so that the two events arrive swapped.
    else return this.attempt(delivery, 1, () => this.release(vendor));
    this.release(vendor);
  }

  /** Number of attempts in flight. */
  get inFlight(): number {
    return this.running.size;
  }

  /** Aborts attempts in flight and starts no more. Pending attempts can still be saved. */
  stop(): void {
    this.generation++;
    this.pending.forEach((cancel) => cancel());
    this.running.forEach((controller) => controller.abort());
  }

  /** Stops and drops all pending attempts. */
  reset(): void {
    this.stop();
    this.held.clear();
    this.pending.clear();
  }

  save(): readonly Pending[] {
    return [...this.pending.keys()];
  }

  /** Repeats an attempt that was in flight, because the result of the attempt is unknown. */
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
    const { generation } = this;
    const onWire = { delivery, attempt, dueAtMs: this.clock.nowMs() };
    this.pending.set(onWire, () => undefined);
    void this.post(delivery, attempt).then((status) => {
      if (generation !== this.generation) return;
      this.pending.delete(onWire);
      this.settle(delivery, attempt, status);
      then?.();
    });
  }

  /** Returns the status, or undefined after a time-out or a network error. */
  private async post(delivery: Delivery, attempt: number): Promise<number | undefined> {
    const policy = this.policyOf(delivery);
    const sent = { ...delivery, body: policy.bodyFor?.(delivery, attempt) ?? delivery.body };
    const headers = { 'content-type': 'application/json', ...policy.headersFor(sent) };
    const stopped = new AbortController();
    this.running.add(stopped);
    try {
      return await withDeadline(this.clock, policy.ackTimeoutMs(), (late) =>
        postBytes(sent.url, Buffer.from(sent.body), headers, AbortSignal.any([late, stopped.signal])),
      );
    } catch {
      return undefined;
    } finally {
      this.running.delete(stopped);
    }
  }

  private settle(delivery: Delivery, attempt: number, status: number | undefined): void {
    const policy = this.policyOf(delivery);
    const verdict = policy.onOutcome?.(delivery, status);
    if (status !== undefined && policy.isAck(status)) return this.judge.webhook(delivery.vendor, 'acked');
    const delayMs = policy.retryDelaysMs()[attempt - 1];
    if (verdict === 'stop' || delayMs === undefined) return this.judge.webhook(delivery.vendor, 'failed');
    this.later(delivery, attempt + 1, delayMs);
  }

  private policyOf({ vendor }: Delivery): DeliveryPolicy {
    return this.policies.get(vendor)!;
  }
}
