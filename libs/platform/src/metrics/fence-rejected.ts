import { Counter } from 'prom-client';

/** Somebody wrote with a fence that is over: it slept through its lease, and changed nothing. */
export const fenceRejected = new Counter({
  name: 'fence_rejected_total',
  help: 'Writes that were refused because another had taken over the work',
  labelNames: ['kind'],
});
