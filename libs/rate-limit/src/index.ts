export { budgetConnection } from './budget-connection.js';
export { type Gauge, type Usage } from './counters.js';
export { Ledger } from './ledger.js';
export { ceiling, strava as stravaPolicy, type CallClass, type VendorPolicy } from './policy.js';
export { VendorBudget, type Acquisition, type Call, type Permit, type Refused } from './vendor-budget.js';
