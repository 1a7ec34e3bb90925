// For specs only.
import { createLogger, timeScale, Worker } from '#platform';
import { type OutboundCaller } from '#reliability';
import { subscriptionCall, titleOf, type VendorId } from '#vendors';
import { type SubscriptionCheck, type SubscriptionKeeper } from './subscription-keeper.js';

/** Requests about subscriptions that no budget is charged for. */
export function uncharged(vendor: VendorId, caller: Pick<OutboundCaller, 'call'>) {
  const budget = { waitForPermit: () => Promise.reject(new Error('nothing is charged here')) };
  return subscriptionCall({ title: titleOf(vendor) }, caller, budget);
}

/** A worker that has just started, and so checks at once. `runOnce` returns undefined if it claims nothing. */
export function workerOf(keeper: SubscriptionKeeper) {
  const worker = new Worker(keeper, timeScale(1), createLogger({ level: 'silent', process: 'test' }));
  return {
    /** Returns the time until the next check in ms, or undefined if nothing was checked or the claim was lost. */
    runOnce: async () => ((await worker.runOne()) as SubscriptionCheck | undefined)?.afterMs,
  };
}
