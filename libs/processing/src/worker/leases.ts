import { Lease, LeaseLost, type Logger, RENEWALS_PER_LEASE } from '#platform';
import { type RunClaim } from '../lifecycle/run.js';

interface HeldLease {
  readonly claim: RunClaim;
  readonly lease: Lease;
}

type Renew = (claims: readonly RunClaim[]) => Promise<ReadonlySet<string>>;

/**
 * Holds this worker's leases and renews all of them with one statement, every third of a lease. The signal of a run aborts when its
 * lease is lost: the run was cancelled, another worker has the job, or the lease was not renewed in time. The signal aborts before
 * another worker can get the job. Exception: a paused process notices the loss later.
 */
export class Leases {
  private readonly held = new Map<string, HeldLease>();
  private heartbeat: NodeJS.Timeout | undefined;

  constructor(
    private readonly leaseMs: number,
    private readonly renew: Renew,
    private readonly logger: Logger,
  ) {}

  start(): void {
    this.heartbeat ??= setInterval(() => void this.renewAll(), this.leaseMs / RENEWALS_PER_LEASE);
  }

  stop(): void {
    clearInterval(this.heartbeat);
    this.heartbeat = undefined;
  }

  /** `requestedAtMs`: `performance.now()` before the claim was sent; the database starts the lease later. */
  hold(claim: RunClaim, requestedAtMs: number): AbortSignal {
    const lease = new Lease(this.leaseMs, requestedAtMs);
    this.held.set(claim.run_id, { claim, lease });
    return lease.signal;
  }

  drop({ run_id }: RunClaim): void {
    this.held.get(run_id)?.lease.end();
    this.held.delete(run_id);
  }

  abortAll(reason: Error): void {
    for (const { lease } of this.held.values()) lease.lose(reason);
  }

  /** One failed renewal loses no lease: at least one more follows before a lease ends. */
  async renewAll(): Promise<void> {
    const held = [...this.held.values()].filter(({ lease }) => !isLost(lease));
    if (held.length === 0) return;
    const requestedAtMs = performance.now();
    try {
      const renewed = await this.renew(held.map(({ claim }) => claim));
      for (const { claim, lease } of held)
        if (renewed.has(claim.run_id)) lease.renewed(requestedAtMs);
        else lease.lose();
    } catch (err) {
      this.logger.warn({ err }, 'job leases not renewed');
    }
  }
}

/** A run that was told to stop is renewed until its outcome is written. */
const isLost = ({ signal }: Lease) => signal.reason instanceof LeaseLost;
