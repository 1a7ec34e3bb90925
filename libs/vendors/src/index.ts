export { BudgetsModule } from './budgets.module.js';
export { type CallFailure, type CallOutcome, failureCode, isForbidden, ok } from './call/call-outcome.js';
export { subscriptionCall } from './call/subscription-calls.js';
export { type TokenAccess, TOKENS, type TokenSource } from './call/token-source.js';
export { type CallBudget, type CallContext } from './call/vendor-calls.js';
export { LONGEST_CALL_MS, VendorCallers } from './callers.js';
export {
  type ActivityPage,
  type ActivitySource,
  type DetailedActivity,
  type Lap,
  type Listing,
  type Photo,
  type Split,
  type SummaryActivity,
} from './capabilities/activities.js';
export { type SleepRecord, type SleepSource } from './capabilities/sleep.js';
export { type RawStreams, type StreamSource } from './capabilities/streams.js';
export {
  basicAuth,
  type OAuthClient,
  type OAuthFacts,
  type OAuthRequest,
  type VendorAccount,
} from './oauth.js';
export { ReconciliationRows, reconciliationWork } from './reconciliation.js';
export { isVendor, titleOf, VENDOR_IDS, type VendorId, VENDORS, vendorsWith } from './registry.js';
export { loadProductConfig, type ProductConfig, settingsOf, VENDOR_SETTINGS } from './settings.js';
export { Sources } from './sources.js';
export { type Vendor } from './vendor.js';
export { VendorsModule } from './vendors.module.js';
export {
  type Aspect,
  type NewSubscription,
  type ObjectType,
  type Subscription,
  type SubscriptionApi,
  type SubscriptionCall,
  type Webhook,
  type WebhookChallenge,
  type WebhookDelivery,
  type WebhookEvent,
  type WebhookRefusal,
  type WebhookSubscriptions,
  type WebhookVerdict,
} from './webhook.js';
// Tests sign deliveries and challenges.
export { verificationTokenOf } from './oura/verification-token.js';
