import { type VendorConfig } from '#platform';

export const PROVIDERS = ['strava', 'oura', 'whoop'] as const;
export type Provider = (typeof PROVIDERS)[number];

export function isProvider(name: string): name is Provider {
  return (PROVIDERS as readonly string[]).includes(name);
}

export interface Client {
  readonly id: string;
  readonly secret: string;
}

/** A request as data; the bearer token or the app's credentials are already in it. */
export interface Order {
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly form?: Readonly<Record<string, string>>;
}

/** What differs between vendors that all speak OAuth 2 with the app's credentials in the body. */
export interface OAuthFacts {
  readonly title: string;
  authorizeUrl(config: VendorConfig): string;
  tokenUrl(config: VendorConfig): string;
  readonly scopes: readonly string[];
  /** Asked for, too, where what we make is written to the vendor. Nobody has to grant them. */
  readonly writeScopes?: readonly string[];
  /** Each line is a choice: one of its scopes has to be granted. */
  readonly requiredScopes: ReadonlyArray<readonly string[]>;
  readonly scopeSeparator: ',' | ' ';
  /** Where the vendor says what the person left ticked. */
  readonly grantedScopesIn: 'redirect' | 'token answer';
  readonly pkce: boolean;
  readonly authorizeExtras?: Readonly<Record<string, string>>;
  readonly refreshExtras?: Readonly<Record<string, string>>;
  /** Where the token answer does not name the athlete: whom to ask, and the field with the id. */
  readonly profile?: { order(config: VendorConfig, accessToken: string): Order; readonly idField: string };
  readonly revocation: {
    readonly token: 'access' | 'refresh';
    order(config: VendorConfig, client: Client, token: string): Order;
    /** Answers that mean: there is nothing left to revoke. */
    readonly goneStatuses?: readonly number[];
    /** It counts as a call of the vendor's limits. */
    readonly isCharged?: true;
  };
  /** How long before the end of a token its renewal may be asked for. Earlier, the vendor answers with the same token. */
  readonly renewableMs: number;
}
