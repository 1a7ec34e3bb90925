import { counter, type CounterPolicy, DAY_SECONDS, RESERVES, type VendorPolicy } from '#rate-limit';

const QUARTER_SECONDS = 900;

/** Strava's limits per app, not per athlete. Our calls are "non-upload" calls, so each call is charged to all four counters. */
export const limits: VendorPolicy = {
  vendor: 'strava',
  counters: [
    quarter('read', 100, 'strava:rate:global:window:'),
    day('read', 1_000, 'strava:rate:global:day:'),
    quarter('overall', 200, 'strava:rate:overall:window:'),
    day('overall', 2_000, 'strava:rate:overall:day:'),
  ],
  slots: 4,
  shares: { reconciliation: { percent: 10, burst: 10 } },
  atLimit: 'resume',
  rateHeaders: {
    form: 'lists',
    windows: ['15min', 'day'],
    buckets: [
      { bucket: 'read', limit: 'x-readratelimit-limit', usage: 'x-readratelimit-usage' },
      { bucket: 'overall', limit: 'x-ratelimit-limit', usage: 'x-ratelimit-usage' },
    ],
  },
};

function quarter(bucket: string, limit: number, key: string): CounterPolicy {
  const { none, buffer, yielding } = RESERVES;
  const reserve = { live: none, import: buffer, backfill: yielding };
  return { ...counter({ bucket, window: '15min', seconds: QUARTER_SECONDS, limit, key }), reserve };
}

function day(bucket: string, limit: number, key: string): CounterPolicy {
  const windows = { window: 'day', seconds: DAY_SECONDS, releasedForLastSeconds: QUARTER_SECONDS };
  return counter({ bucket, limit, key, ...windows });
}
