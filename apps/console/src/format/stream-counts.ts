interface Counts {
  readonly pending: number;
  readonly fetching: number;
  readonly success: number;
  readonly failed: number;
  readonly deferred: number;
  readonly unavailable: number;
}

export function totalOf({ pending, fetching, success, failed, deferred, unavailable }: Counts): number {
  return pending + fetching + success + failed + deferred + unavailable;
}

/** Streams that a backfill still fetches. A failed one is tried again, unless it is stuck. */
export function leftOf({ pending, fetching, deferred }: Counts): number {
  return pending + fetching + deferred;
}
