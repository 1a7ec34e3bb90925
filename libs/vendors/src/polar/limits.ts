import { counter, DAY_SECONDS, type VendorPolicy } from '#rate-limit';

// A window ends 15 minutes, or 24 hours, after the request that began it.
const alignment = 'first request';

/**
 * Polar's limits per app, for all its athletes together: 500 + 20 per athlete in 15 minutes, 5,000 + 100 in 24 hours. Polar counts the
 * athletes once a day. Until an answer reports the limits, the limits of an app without athletes are used. A call that the short limit refuses
 * counts towards the long one.
 */
export const limits: VendorPolicy = {
  vendor: 'polar',
  counters: [
    counter({ window: '15min', seconds: 900, limit: 500, key: 'polar:rate:global:window:', alignment }),
    counter({ window: 'day', seconds: DAY_SECONDS, limit: 5_000, key: 'polar:rate:global:day:', alignment }),
  ],
  slots: 4,
  shares: { reconciliation: { percent: 10, burst: 10 } },
  atLimit: 'resume',
  rateHeaders: {
    form: 'lists',
    windows: ['15min', 'day'],
    buckets: [
      { bucket: 'read', limit: 'ratelimit-limit', usage: 'ratelimit-usage', reset: 'ratelimit-reset' },
    ],
  },
};
