import { type RunClaim } from '../lifecycle/run.js';

// A job becomes available when the transaction that enqueues it begins, and visible when that transaction ends.
const VISIBLE_WITHIN_MS = 1_000;

/**
 * Claims only jobs that became available since the last claim that left slots free, so that a claim does not scan index entries of
 * claimed jobs. Every `fullScanEveryMs` a claim scans all jobs, to find jobs that a long transaction enqueued.
 */
export class ClaimWindow {
  private drainedAtMs = -Infinity;
  private fullScanAtMs = -Infinity;

  constructor(
    private readonly claim: (most: number, sinceMs: number | null) => Promise<RunClaim[]>,
    private readonly fullScanEveryMs: number,
    private readonly nowMs: () => number = () => performance.now(),
  ) {}

  async take(most: number): Promise<RunClaim[]> {
    const atMs = this.nowMs();
    const isFullScan = atMs - this.fullScanAtMs >= this.fullScanEveryMs;
    const claims = await this.claim(most, isFullScan ? null : atMs - this.drainedAtMs + VISIBLE_WITHIN_MS);
    if (claims.length < most) {
      this.drainedAtMs = atMs;
      if (isFullScan) this.fullScanAtMs = atMs;
    }
    return claims;
  }
}
