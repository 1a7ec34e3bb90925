import { type VendorConfig } from '#platform';

export interface OAuthClient {
  readonly id: string;
  readonly secret: string;
}

/** A request as data, including the bearer token or the app's credentials. */
export interface OAuthRequest {
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly form?: Readonly<Record<string, string>>;
  readonly json?: Readonly<Record<string, unknown>>;
}

/** A new grant of an athlete: the token, and the athlete's id at the vendor. */
export interface VendorAccount {
  readonly token: string;
  readonly vendorAthleteId: string;
}

/**
 * The registration of an athlete, for a vendor whose API answers only for registered athletes. It follows the exchange of the code, and the
 * connection is stored only after it.
 */
interface AthleteRegistration {
  /** `memberId` is new and random, so that two athletes never share it. */
  request(config: VendorConfig, account: VendorAccount, memberId: string): OAuthRequest;
  /** The status that means: registered already, or the member id is in use. A 200 to `confirmation` then proves the registration. */
  readonly conflictStatus: number;
  confirmation(config: VendorConfig, account: VendorAccount): OAuthRequest;
  /** The status that means that the athlete has not accepted the vendor's mandatory consents. */
  readonly consentsMissingStatus: number;
}

/** The differences between vendors, all of which use OAuth 2. */
export interface OAuthFacts {
  authorizeUrl(config: VendorConfig): string;
  tokenUrl(config: VendorConfig): string;
  /** Where a token request has the app's credentials. Default: in its body. */
  readonly clientAuth?: 'body' | 'basic';
  /** The path of the athlete's id in the token answer, if it is there. Otherwise `profile` is requested. */
  readonly accountField?: readonly string[];
  readonly scopes: readonly string[];
  /** Scopes that are requested as well if write-back is switched on. The athlete may refuse them. */
  readonly writeScopes?: readonly string[];
  /** The words beside the checkboxes of scopes on the vendor's consent page. Absent: the page shows the scopes' names. */
  readonly scopeLabels?: Readonly<Record<string, string>>;
  /** Each entry lists alternatives, one of which is required. */
  readonly requiredScopes: ReadonlyArray<readonly string[]>;
  readonly scopeSeparator: ',' | ' ';
  /** The place where the vendor reports the granted scopes. `nowhere`: all requested scopes are granted, or none. */
  readonly grantedScopesIn: 'redirect' | 'token answer' | 'nowhere';
  readonly pkce: boolean;
  readonly authorizeExtras?: Readonly<Record<string, string>>;
  readonly refreshExtras?: Readonly<Record<string, string>>;
  /** For a vendor whose token answer does not name the athlete: the profile request, and the field with the id. */
  readonly profile?: {
    request(config: VendorConfig, accessToken: string): OAuthRequest;
    readonly idField: string;
  };
  readonly registration?: AthleteRegistration;
  readonly revocation: {
    readonly token: 'access' | 'refresh';
    request(config: VendorConfig, client: OAuthClient, account: VendorAccount): OAuthRequest;
    /** Statuses that mean that the grant has already ended. */
    readonly goneStatuses?: readonly number[];
    /** The revocation counts against the vendor's rate limit. */
    readonly isCharged?: true;
  };
  /** `none`: the vendor issues no refresh token, so a token that expires or gets a 401 ends the connection until the athlete connects again. */
  readonly refresh?: 'none';
  /** While the token is valid for longer than this, a renewal returns the same token. 0 if there is no refresh. */
  readonly renewableMs: number;
}

export function basicAuth({ id, secret }: OAuthClient): string {
  return `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`;
}

/** A GET request with a bearer token, as profile requests and some revocations are. */
export function getWithToken(url: string, token: string): OAuthRequest {
  return { method: 'GET', url, headers: { authorization: `Bearer ${token}` } };
}
