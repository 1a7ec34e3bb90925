import { type Claim } from '../lifecycle/run.js';

// A job becomes available when the transaction that enqueues it begins, and visible when that ends.
const SEEN_WITHIN_MS = 1_000;

/**
 * Claims, and remembers when nothing more was to be had: the next look goes back to then and no further. Now and then one looks at
 * everything, for what a long transaction has brought in since.
 */
export class Looks {
  private foundAllAtMs = -Infinity;
  private lookedEverywhereAtMs = -Infinity;

  constructor(
    private readonly claim: (most: number, sinceMs: number | null) => Promise<Claim[]>,
    private readonly everywhereEachMs: number,
    private readonly nowMs: () => number = () => performance.now(),
  ) {}

  async take(most: number): Promise<Claim[]> {
    const atMs = this.nowMs();
    const isEverywhere = atMs - this.lookedEverywhereAtMs >= this.everywhereEachMs;
    const claims = await this.claim(most, isEverywhere ? null : atMs - this.foundAllAtMs + SEEN_WITHIN_MS);
    if (claims.length < most) {
      this.foundAllAtMs = atMs;
      if (isEverywhere) this.lookedEverywhereAtMs = atMs;
    }
    return claims;
  }
}
