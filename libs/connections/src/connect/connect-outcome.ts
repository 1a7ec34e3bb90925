import { Counter } from 'prom-client';
import { type Provider } from '../oauth/provider.js';

export const connects = new Counter({
  name: 'oauth_connects_total',
  help: 'Ends of a consent flow',
  labelNames: ['provider', 'result'],
});

/** How the vendor's callback ended. */
export type CallbackEnd =
  /** The vendor's code is stored. The athlete is connected after a request has sent the code `confirm`. */
  | { readonly kind: 'confirm'; readonly confirm: string; readonly account: string }
  | { readonly kind: 'denied' }
  | MissingScope
  /** The state is missing, forged, used or too old. */
  | { readonly kind: 'stale' }
  /** The code is missing or too long, or the vendor reported an error. */
  | { readonly kind: 'refused' };

/** Each entry of `missing` lists alternatives, one of which is required. */
export interface MissingScope {
  readonly kind: 'missing_scope';
  readonly missing: ReadonlyArray<readonly string[]>;
}

/** How a confirmed consent ended. */
export type ConfirmEnd =
  | { readonly kind: 'connected'; readonly athleteId: string }
  /** The consent does not exist, or another athlete began it. */
  | { readonly kind: 'unknown' }
  /** The consent was confirmed or declined before, its callback is ten minutes old, or a disconnection voided it. */
  | { readonly kind: 'lapsed' }
  | MissingScope
  /** The athlete has not accepted the vendor's mandatory consents. Nothing is stored; the athlete accepts them there and connects again. */
  | { readonly kind: 'consents_missing' }
  /** The vendor's account is connected to another athlete here. */
  | { readonly kind: 'taken' }
  /** This athlete has another account of that vendor connected. */
  | { readonly kind: 'other_account' }
  /** The vendor rejected the code, or the athlete was deleted during the exchange. */
  | { readonly kind: 'refused' }
  /** The vendor rejects this app: wrong client, inactive, or its number of athletes is at the limit. */
  | { readonly kind: 'app_refused' }
  /** The vendor gave no usable answer. */
  | { readonly kind: 'vendor_away' };

interface ConsentOutcome<End> {
  readonly provider: Provider;
  /** The vendor's display name. */
  readonly title: string;
  readonly end: End;
}

export interface CallbackOutcome extends ConsentOutcome<CallbackEnd> {
  readonly returnUrl?: string;
}

export type ConfirmOutcome = ConsentOutcome<ConfirmEnd>;
