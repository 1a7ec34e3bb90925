import { Counter } from 'prom-client';

export const connects = new Counter({
  name: 'oauth_connects_total',
  help: 'Ends of a consent flow',
  labelNames: ['provider', 'result'],
});

export const refreshes = new Counter({
  name: 'oauth_refreshes_total',
  help: 'Refreshes of an access token that this process asked a vendor for',
  labelNames: ['provider', 'result'],
});

export const revocations = new Counter({
  name: 'oauth_revocations_total',
  help: 'Attempts to end a grant at the vendor',
  labelNames: ['provider', 'result'],
});
