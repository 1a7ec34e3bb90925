import { Counter, Gauge } from 'prom-client';
import { OneAtATime, startAtZero } from '#platform';
import { type Gauge as BudgetGauge } from './counters.js';
import { CALL_CLASSES, nameOf, type VendorPolicy } from './policy.js';

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

const clockDifference = new Gauge({
  name: 'vendor_clock_difference_seconds',
  help: "Redis' clock minus the vendor's, by the Date of the vendor's answers; 0 if they differ by less than a second",
  labelNames: ['vendor'],
  collect: () => {
    for (const [vendor, { clockDifferenceSeconds }] of observed)
      clockDifference.set({ vendor }, clockDifferenceSeconds);
  },
});

interface ObservedBudget {
  readonly clockDifferenceSeconds: number;
  gauges(): Promise<BudgetGauge[]>;
}

const observed = new Map<string, ObservedBudget>();
const collections = new OneAtATime<void>();

/** Registers the budget that scrapes read. Roles in one process share a registry, so the newest budget of a vendor wins. */
export function observeBudget(vendor: string, budget: ObservedBudget): void {
  observed.set(vendor, budget);
}

/** Makes the series of a vendor's refusals, so that the first one is seen. */
export function startCounting({ vendor, counters }: Pick<VendorPolicy, 'vendor' | 'counters'>): void {
  startAtZero(rateLimited, [{ vendor }]);
  const windows = [...counters.map(nameOf), 'boundary', 'slot'];
  for (const name of CALL_CLASSES)
    startAtZero(
      budgetRefusals,
      windows.map((window) => ({ vendor, class: name, window })),
    );
}

/** Reads the budgets once per scrape, for both metrics. */
function collectOnce(): Promise<void> {
  return collections.run('all', collect);
}

async function collect(): Promise<void> {
  // A budget that cannot be read is left out: its previous numbers would look current.
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
