import { Counter, Histogram } from 'prom-client';

export const attempts = new Counter({
  name: 'stream_fetch_attempts_total',
  help: 'Attempts to fetch streams by how they ended; `fenced`: another had the activity by then, and nothing was written',
  labelNames: ['result'],
});

export const duration = new Histogram({
  name: 'stream_fetch_duration_seconds',
  help: 'From the claim to the stored row',
  buckets: [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
});
