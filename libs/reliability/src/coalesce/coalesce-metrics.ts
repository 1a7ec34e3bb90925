import { Counter, Gauge } from 'prom-client';

export type Part = 'led' | 'joined' | 'followed' | 'took_over' | 'alone';

export const coalesced = new Counter({
  name: 'coalesced_requests_total',
  help: 'Requests that identical ones may share, by their part in it',
  labelNames: ['scope', 'part'],
});

export const flightsNow = new Gauge({
  name: 'coalesced_flights',
  help: 'What requests wait for together at this moment',
});
