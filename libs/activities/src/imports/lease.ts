const RENEWALS_A_LEASE = 3;

/**
 * The right to work on something, renewed at a third of its length. `signal` aborts when it is lost: taken by another, or
 * not renewed in time, which is judged before the database can give it to somebody else.
 */
export class Lease {
  private readonly lost = new AbortController();
  private readonly heartbeat: NodeJS.Timeout;
  private expiry: NodeJS.Timeout;
  private isOver = false;

  /** `elapsedMs`: since it was asked for; the database counts from some moment in between. */
  constructor(
    private readonly ms: number,
    private readonly renew: () => Promise<boolean>,
    private readonly onFailure: (error: unknown) => void,
    elapsedMs = 0,
  ) {
    this.heartbeat = setInterval(() => void this.beat(), ms / RENEWALS_A_LEASE);
    this.expiry = this.expireIn(ms - elapsedMs);
  }

  get signal(): AbortSignal {
    return this.lost.signal;
  }

  end(): void {
    this.isOver = true;
    clearInterval(this.heartbeat);
    clearTimeout(this.expiry);
  }

  private async beat(): Promise<void> {
    const askedAtMs = performance.now();
    const renewed = await this.tryToRenew();
    if (renewed === undefined || this.isOver) return;
    if (!renewed) return this.lose();
    clearTimeout(this.expiry);
    this.expiry = this.expireIn(this.ms - (performance.now() - askedAtMs));
  }

  /** One that fails is not yet a loss: there are two more before the lease ends. */
  private async tryToRenew(): Promise<boolean | undefined> {
    try {
      return await this.renew();
    } catch (error) {
      this.onFailure(error);
      return undefined;
    }
  }

  private expireIn(ms: number): NodeJS.Timeout {
    return setTimeout(() => this.lose(), ms);
  }

  private lose(): void {
    this.end();
    this.lost.abort();
  }
}
