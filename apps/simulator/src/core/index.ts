export { VendorClock, type AlignedWindow, type TimeSource } from './clock.js';
export {
  ControlRegistry,
  type ControlAnswer,
  type NewAthleteOrder,
  type VendorControls,
} from './controls.js';
export { Core, type CoreOptions, type VendorApp } from './core.js';
export { withDeadline } from './deadline.js';
export { Digits } from './digits.js';
export { type Dialect, type Problem } from './dialect.js';
export { openDoor, pathOf, type Visit } from './door.js';
export { FAULT_KINDS, type FaultKind, type FaultOrder, PLACES_OF } from './faults.js';
export { type BucketPlan, type BucketUse } from './limits.js';
export { type Part, type Snapshot } from './memory.js';
export { readableUrl } from './readable-url.js';
export { randomToken, seededRandom } from './random.js';
export { TokenStore, type Consent, type TokenInfo, type TokenPair, type TokenPolicy } from './tokens.js';
export { ENDPOINTS, VENDORS, type Vendor } from './vendors.js';
export { Outbox, type Courier, type Delivery } from './webhooks.js';
export { World, type Athlete } from './world.js';
