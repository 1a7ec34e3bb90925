import { Counter } from 'prom-client';
import { startAtZero } from '#platform';
import { vendorsWith } from '#vendors';

const RESULTS = [
  ...['received', 'duplicate', 'ignored'],
  ...['applied', 'deleted', 'deauthorized', 'superseded', 'set_aside'],
];

export const webhookEvents = new Counter({
  name: 'webhook_events_total',
  help: 'Events of vendors by their result',
  labelNames: ['vendor', 'result'],
});
startAtZero(
  webhookEvents,
  vendorsWith('webhook').flatMap((vendor) => RESULTS.map((result) => ({ vendor, result }))),
);
