import { Counter } from 'prom-client';

export const webhookEvents = new Counter({
  name: 'webhook_events_total',
  help: 'Events of vendors by what became of them',
  labelNames: ['vendor', 'result'],
});
