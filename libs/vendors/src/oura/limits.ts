import { counter, type VendorPolicy } from '#rate-limit';

/** Oura once documented this limit per token and documents none now. We apply it per app, which is stricter. */
export const limits: VendorPolicy = {
  vendor: 'oura',
  counters: [counter({ window: '5min', seconds: 300, limit: 5_000, key: 'oura:rate:global:window:' })],
  slots: 4,
  atLimit: 'resume',
};
