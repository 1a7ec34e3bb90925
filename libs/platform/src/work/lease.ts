import { type TimeScale } from '../clock/clock.js';

/** A lease is renewed at each third of its length: one failed renewal loses none. */
export const RENEWALS_PER_LEASE = 3;

/**
 * The length of a lease, of a lock or of a threshold for lost work. TIME_SCALE divides it, but never below 5 s nor below `atLeastMs`: a lease
 * must outlast a call and the write after it, which TIME_SCALE does not shorten.
 */
export function leaseLength(scale: TimeScale, realMs: number, atLeastMs = 0): number {
  return Math.max(scale.guard(realMs), atLeastMs);
}

/** The reason of a lease's signal when the lease is lost. */
export class LeaseLost extends Error {
  override readonly name = 'LeaseLost';
  constructor() {
    super('The lease has ended, or another worker has claimed the work');
  }
}

/**
 * A lease as its holder sees it. `signal` aborts when the lease is lost: a renewal was refused, or none succeeded in time. Not
 * guaranteed: a frozen process sees the signal only after it wakes, so each write needs the fence.
 */
export class Lease {
  private readonly lost = new AbortController();
  private expiry: NodeJS.Timeout | undefined;
  private isOver = false;

  /** `requestedAtMs`: `performance.now()` before the claim was sent. The database's lease begins later, so this lease ends first. */
  constructor(
    private readonly ms: number,
    requestedAtMs: number,
  ) {
    this.renewed(requestedAtMs);
  }

  get signal(): AbortSignal {
    return this.lost.signal;
  }

  /** `requestedAtMs`: `performance.now()` before the renewal was sent. */
  renewed(requestedAtMs: number): void {
    if (this.isOver) return;
    clearTimeout(this.expiry);
    this.expiry = setTimeout(() => this.lose(), this.ms - (performance.now() - requestedAtMs));
  }

  lose(reason: Error = new LeaseLost()): void {
    if (this.isOver) return;
    this.end();
    this.lost.abort(reason);
  }

  /** The work is done: the signal never aborts. */
  end(): void {
    this.isOver = true;
    clearTimeout(this.expiry);
  }
}

/** A lease that a heartbeat renews until it is ended or lost. A failed renewal is reported, and tried again a third of the lease later. */
export class KeptLease extends Lease {
  private readonly heartbeat: NodeJS.Timeout;

  /** `renew` returns false if another worker has claimed the work. */
  constructor(
    ms: number,
    requestedAtMs: number,
    private readonly renew: () => Promise<boolean>,
    private readonly onFailure: (error: unknown) => void,
  ) {
    super(ms, requestedAtMs);
    this.heartbeat = setInterval(() => void this.beat(), ms / RENEWALS_PER_LEASE);
  }

  override end(): void {
    clearInterval(this.heartbeat);
    super.end();
  }

  private async beat(): Promise<void> {
    const requestedAtMs = performance.now();
    try {
      if (await this.renew()) this.renewed(requestedAtMs);
      else this.lose();
    } catch (error) {
      this.onFailure(error);
    }
  }
}
