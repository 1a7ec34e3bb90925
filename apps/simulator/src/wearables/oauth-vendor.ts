import { type Athlete, type TokenPair, type TokenStore } from '../core/index.js';
import { type ClientApp } from './client-app.js';

export type OAuthError =
  | 'access_denied'
  | 'invalid_client'
  | 'invalid_grant'
  | 'invalid_request'
  | 'invalid_scope'
  | 'unsupported_grant_type'
  | 'unsupported_response_type';

/** A vendor whose authorize page asks a person. */
export interface ConsentVendor {
  readonly name: string;
  readonly authorizePath: string;
  readonly scopes: readonly string[];
  readonly client: ClientApp;
  readonly tokens: TokenStore;
  people(): readonly Athlete[];
  addPerson(): Athlete;
  /** False if the fault `athlete_limit` or the app's capacity refuses this person. */
  hasRoomFor(athleteId: string): boolean;
  /** The redirect URLs that the app has registered, the default first. Absent or empty: every URL is accepted. */
  registeredRedirects?(): readonly string[];
  /** False if the redirect with the code does not repeat the scopes. */
  readonly returnsScope?: boolean;
}

/** The differences between Oura and WHOOP. Both use plain OAuth 2 with credentials in the body or as HTTP Basic. */
export interface OAuthVendor extends ConsentVendor {
  readonly tokenPath: string;
  tokenAnswer(pair: TokenPair): Record<string, unknown>;
  errorAnswer(status: number, error: OAuthError, description: string): Record<string, unknown>;
}

/** The fields of a query or a form. A field with two values is a list. */
export type Fields = Readonly<Record<string, string | string[] | undefined>>;

export function one(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value;
}
