export { type Acquisition, type Call, type Permit, type Refused } from './acquisition.js';
export { budgetConnection } from './budget-connection.js';
export { type Gauge, type Usage } from './counters.js';
export { eta, type Outlook } from './eta.js';
export { Ledger, type Traffic } from './ledger.js';
export { type Patience } from './patience.js';
export { ceiling, strava as stravaPolicy, type CallClass, type VendorPolicy } from './policy.js';
export { RateLimitModule, STRAVA_BUDGET } from './rate-limit.module.js';
export { VendorBudget } from './vendor-budget.js';
