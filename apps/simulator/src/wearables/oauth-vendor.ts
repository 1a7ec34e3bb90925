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

/** What differs between vendors that both speak plain OAuth 2 with the credentials in the body. */
export interface OAuthVendor {
  readonly name: string;
  readonly authorizePath: string;
  readonly tokenPath: string;
  readonly scopes: readonly string[];
  readonly client: ClientApp;
  readonly tokens: TokenStore;
  people(): readonly Athlete[];
  addPerson(): Athlete;
  /** False when the vendor caps how many people a new app may connect. */
  hasRoomFor(athleteId: string): boolean;
  tokenAnswer(pair: TokenPair): Record<string, unknown>;
  errorAnswer(status: number, error: OAuthError, description: string): Record<string, unknown>;
}

/** A query or a form; a name given twice is a list. */
export type Fields = Readonly<Record<string, string | string[] | undefined>>;

export function one(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value;
}
