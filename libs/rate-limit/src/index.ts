export { Budgets } from './budgets.js';
export { type Gauge } from './counters.js';
export { eta, etas, windowLeft } from './eta.js';
export { Ledger } from './ledger.js';
export {
  type GrantedPermit,
  type NotNow,
  type Permit,
  type PermitOutcome,
  type PermitWait,
  type VendorCall,
} from './permit.js';
export { CallRecords } from './personal-records.js';
export {
  CALL_CLASSES,
  type CallClass,
  counter,
  type CounterPolicy,
  DAY_SECONDS,
  RESERVES,
  type VendorPolicy,
} from './policy.js';
export { readRates, type Usage } from './rate-headers.js';
export { budgetConnection, RateLimitModule } from './rate-limit.module.js';
export { type TrafficView } from './traffic.js';
export { VendorBudget } from './vendor-budget.js';
export { VendorShare } from './vendor-share.js';
export { BOUNDARY_WAIT_MS, LOOK_FOR_DUE_MS } from './windows.js';
