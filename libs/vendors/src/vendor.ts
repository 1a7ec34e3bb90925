import { type VendorSettings } from '#platform';
import { type VendorPolicy } from '#rate-limit';
import { type ReadFault } from './call/vendor-answer.js';
import { type VendorCalls } from './call/vendor-calls.js';
import { type AccountSource } from './capabilities/account.js';
import { type ActivitySource } from './capabilities/activities.js';
import { type SleepSource } from './capabilities/sleep.js';
import { type StreamSource } from './capabilities/streams.js';
import { type OAuthFacts } from './oauth.js';
import { type Webhook } from './webhook.js';

/** One vendor as data. Its entry in the registry is all that other libs know of it. */
export interface Vendor<Settings extends VendorSettings = VendorSettings> {
  /** Names the vendor in URLs, rows, metrics and Redis keys; it never changes. */
  readonly id: string;
  /** The vendor's name as athletes know it. */
  readonly title: string;
  readonly oauth: OAuthFacts;
  readonly limits: VendorPolicy;
  readonly settings: Settings;
  /** Absent: the vendor pushes nothing. */
  readonly webhook?: Webhook;
  /** Absent: the bodies of this vendor's error answers are not read. */
  readonly readFault?: ReadFault;
  /** The capabilities. The vendor does not have one that is absent. */
  readonly account?: (calls: VendorCalls) => AccountSource;
  readonly activities?: (calls: VendorCalls) => ActivitySource;
  readonly streams?: (calls: VendorCalls) => StreamSource;
  readonly sleep?: (calls: VendorCalls) => SleepSource;
}
