import { type Logger } from '#platform';
import { type Claim } from '../lifecycle/run.js';
import { LeaseLost } from './run-ends.js';

const RENEWALS_A_LEASE = 3;

interface Held {
  readonly claim: Claim;
  readonly end: AbortController;
  expiry: NodeJS.Timeout;
}

type Renew = (claims: readonly Claim[]) => Promise<ReadonlySet<string>>;

/**
 * The leases in this worker's hand, all renewed together at a third of their length. A signal aborts when its lease is lost:
 * cancelled, taken by another, or not renewed in time, which is judged before the database can give it to somebody else.
 */
export class Leases {
  private readonly held = new Map<string, Held>();
  private heartbeat: NodeJS.Timeout | undefined;

  constructor(
    private readonly leaseMs: number,
    private readonly renew: Renew,
    private readonly logger: Logger,
  ) {}

  start(): void {
    this.heartbeat ??= setInterval(() => void this.renewAll(), this.leaseMs / RENEWALS_A_LEASE);
  }

  stop(): void {
    clearInterval(this.heartbeat);
    this.heartbeat = undefined;
  }

  /** `askedAtMs`: when it was asked for, by `performance.now()`; the database counts from some moment after that. */
  hold(claim: Claim, askedAtMs: number): AbortSignal {
    const end = new AbortController();
    this.held.set(claim.run_id, { claim, end, expiry: this.expiry(claim, askedAtMs) });
    return end.signal;
  }

  drop({ run_id }: Claim): void {
    clearTimeout(this.held.get(run_id)?.expiry);
    this.held.delete(run_id);
  }

  abortAll(reason: Error): void {
    for (const { end } of this.held.values()) end.abort(reason);
  }

  /** One that fails is not yet a loss: there are two more before a lease ends. */
  async renewAll(): Promise<void> {
    const asked = [...this.held.values()];
    if (asked.length === 0) return;
    const askedAtMs = performance.now();
    try {
      const renewed = await this.renew(asked.map(({ claim }) => claim));
      for (const held of asked) this.settle(held, renewed.has(held.claim.run_id), askedAtMs);
    } catch (err) {
      this.logger.warn({ err }, 'job leases not renewed');
    }
  }

  private settle(held: Held, isRenewed: boolean, askedAtMs: number): void {
    if (!this.held.has(held.claim.run_id)) return;
    if (!isRenewed) return this.lose(held.claim);
    clearTimeout(held.expiry);
    held.expiry = this.expiry(held.claim, askedAtMs);
  }

  private expiry(claim: Claim, askedAtMs: number): NodeJS.Timeout {
    const leftMs = this.leaseMs - (performance.now() - askedAtMs);
    return setTimeout(() => this.lose(claim), leftMs);
  }

  private lose(claim: Claim): void {
    const held = this.held.get(claim.run_id);
    this.drop(claim);
    held?.end.abort(new LeaseLost());
  }
}
