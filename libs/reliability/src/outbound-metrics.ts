import { Counter, Histogram } from 'prom-client';

export const outboundDuration = new Histogram({
  name: 'outbound_request_duration_seconds',
  help: 'Time from handing a request to a vendor over to its last byte, or to giving up',
  labelNames: ['target', 'outcome'],
  buckets: [0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
});

export const outboundRetries = new Counter({
  name: 'outbound_retries_total',
  help: 'Requests to a vendor sent a second time',
  labelNames: ['target'],
});
