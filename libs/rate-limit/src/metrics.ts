import { Counter, Gauge } from 'prom-client';
import { OneAtATime } from '#platform';
import { type Gauge as BudgetGauge } from './counters.js';

export const vendorRequests = new Counter({
  name: 'vendor_requests_total',
  help: 'Requests made to a vendor',
  labelNames: ['vendor', 'endpoint', 'class', 'status'],
});

export const rateLimited = new Counter({
  name: 'vendor_rate_limited_total',
  help: 'Requests that a vendor answered with 429',
  labelNames: ['vendor'],
});

export const budgetRefusals = new Counter({
  name: 'vendor_budget_refusals_total',
  help: 'Requests that were not made because the budget refused them',
  labelNames: ['vendor', 'class', 'window'],
});

const used = new Gauge({
  name: 'vendor_budget_used',
  help: 'Calls made in the current window',
  labelNames: ['vendor', 'bucket', 'window'],
  collect: () => collectOnce(),
});

const limits = new Gauge({
  name: 'vendor_budget_limit',
  help: 'Calls the vendor allows in a window',
  labelNames: ['vendor', 'bucket', 'window'],
  collect: () => collectOnce(),
});

interface Observed {
  gauges(): Promise<BudgetGauge[]>;
}

const observed = new Map<string, Observed>();
const collections = new OneAtATime<void>();

/** From now on a scrape asks that budget. Roles that share a process share its registry, and the newest is asked. */
export function observeBudget(vendor: string, budget: Observed): void {
  observed.set(vendor, budget);
}

/** Two metrics, one question. */
function collectOnce(): Promise<void> {
  return collections.run('all', collect);
}

async function collect(): Promise<void> {
  // What cannot be asked is left out: an old number would look like a new one.
  const answers = await Promise.all(
    [...observed].map(async ([vendor, budget]) => ({
      vendor,
      gauges: await budget.gauges().catch(() => []),
    })),
  );
  used.reset();
  limits.reset();
  for (const { vendor, gauges } of answers)
    for (const { bucket, window, used: spent, limit } of gauges) {
      used.set({ vendor, bucket, window }, spent);
      limits.set({ vendor, bucket, window }, limit);
    }
}
