import { type Provider } from '../oauth/provider.js';

/** How a consent ended. */
export type ConnectEnd =
  | { readonly kind: 'connected' }
  | { readonly kind: 'denied' }
  /** Each line is a choice of which one was needed. */
  | { readonly kind: 'missing_scope'; readonly missing: ReadonlyArray<readonly string[]> }
  /** The vendor's account is connected to another athlete here. */
  | { readonly kind: 'taken' }
  /** This athlete has another account of that vendor connected. */
  | { readonly kind: 'other_account' }
  /** The state is missing, forged, used or too old. */
  | { readonly kind: 'stale' }
  /** The code is missing or dead, or the vendor reported an error of its own. */
  | { readonly kind: 'refused' }
  /** The vendor does not accept this app: wrong client, inactive, or it has all the athletes it may have. */
  | { readonly kind: 'app_refused' }
  | { readonly kind: 'vendor_away' };

export interface ConnectOutcome {
  readonly provider: Provider;
  /** The vendor's name as people write it. */
  readonly title: string;
  readonly end: ConnectEnd;
  readonly returnUrl?: string;
}
