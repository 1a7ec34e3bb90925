import { type Gauge } from './counters.js';
import { type Ledger } from './ledger.js';
import { type CallClass, type VendorPolicy } from './policy.js';

const BUCKET_SECONDS = 900;
const BUCKETS = 96;

interface TrafficBucket extends Record<CallClass, number> {
  readonly at: Date;
  /** How many of the calls the vendor answered with 429. */
  readonly rate_limited: number;
  /** Calls that the vendor's windows shorter than a day allow in a bucket, by the limits that are known now. */
  readonly limit: number | null;
}

export interface TrafficView {
  readonly from: Date;
  readonly to: Date;
  readonly bucket_ms: number;
  /** Oldest first. The last bucket contains the present. */
  readonly buckets: readonly TrafficBucket[];
}

interface TrafficOptions {
  readonly policy: VendorPolicy;
  readonly gauges: readonly Gauge[];
  /** `TIME_SCALE` */
  readonly scale: number;
  readonly nowMs: number;
}

/** The calls of the last 24 hours in 96 buckets of 15 minutes, both divided by `scale`. */
export async function readTraffic(ledger: Ledger, options: TrafficOptions): Promise<TrafficView> {
  const bucketMs = (BUCKET_SECONDS * 1_000) / options.scale;
  const toMs = (Math.floor(options.nowMs / bucketMs) + 1) * bucketMs;
  const fromMs = toMs - BUCKETS * bucketMs;
  const counts = await ledger.buckets(fromMs, toMs, bucketMs);
  const limit = limitOf(options);
  const buckets = Array.from({ length: BUCKETS }, (_, index) => ({
    at: new Date(fromMs + index * bucketMs),
    live: 0,
    import: 0,
    backfill: 0,
    rate_limited: 0,
    limit,
  }));
  for (const { at, class: callClass, calls, rate_limited } of counts) {
    // Bounds of buckets are rounded to microseconds in Postgres and to milliseconds in a Date.
    const bucket = buckets[Math.round((at.getTime() - fromMs) / bucketMs)];
    if (!bucket) continue;
    bucket[callClass] += calls;
    bucket.rate_limited += rate_limited;
  }
  return { from: new Date(fromMs), to: new Date(toMs), bucket_ms: bucketMs, buckets };
}

/** Null if the vendor limits only whole days. */
function limitOf({ policy, gauges }: TrafficOptions): number | null {
  const limits = policy.counters.flatMap(({ window, seconds }, index) => {
    const { limit } = gauges[index] as Gauge;
    return window === 'day' ? [] : [Math.floor((limit * BUCKET_SECONDS) / seconds)];
  });
  return limits.length > 0 ? Math.min(...limits) : null;
}
