export { basicCredentials, bearerOf } from './authorization.js';
export { VendorClock, withDeadline, type TimeSource } from './clock.js';
export {
  type AthleteRecords,
  ControlRegistry,
  Digits,
  Id,
  type ControlAnswer,
  type VendorControls,
} from './controls.js';
export { Core, type CoreOptions, type VendorApp } from './core.js';
export { type Dialect } from './dialect.js';
export { interceptRequests, pathOf } from './interception.js';
export { FAULT_KINDS, type FaultKind, type FaultOrder, ENDPOINTS_OF_KIND } from './faults.js';
export { type BucketPlan, type BucketUse } from './limits.js';
export { type StatePart, type Snapshot } from './memory.js';
export { randomToken, TokenStore, type TokenInfo, type TokenPair, type TokenPolicy } from './tokens.js';
export { postBytes } from './post-bytes.js';
export { ENDPOINTS, VENDORS, VENDORS_WITH_ATHLETES, type Vendor } from './vendors.js';
export { Outbox, type Delivery } from './webhooks.js';
export { World, type Athlete } from './world.js';
