import { counter, DAY_SECONDS, type VendorPolicy } from '#rate-limit';

/** WHOOP's documented limits, per app. */
export const limits: VendorPolicy = {
  vendor: 'whoop',
  counters: [
    counter({ window: 'minute', seconds: 60, limit: 100, key: 'whoop:rate:global:minute:' }),
    counter({ window: 'day', seconds: DAY_SECONDS, limit: 10_000, key: 'whoop:rate:global:day:' }),
  ],
  slots: 4,
  atLimit: 'resume',
  rateHeaders: {
    form: 'quotas',
    bucket: 'read',
    limit: 'x-ratelimit-limit',
    remaining: 'x-ratelimit-remaining',
    reset: 'x-ratelimit-reset',
  },
};
