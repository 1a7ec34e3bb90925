import { type CallFailure } from './call-outcome.js';

export type TokenAccess =
  /** `connection`: the id of the connection that the token belongs to. An athlete who connects again has another connection. */
  | { readonly kind: 'token'; readonly token: string; readonly connection: string }
  | Extract<CallFailure, { kind: 'revoked' | 'notNow' }>;

/** The athletes' access tokens, as a call to a vendor needs them. `connections` provides it. */
export interface TokenSource {
  /** Returns a token that has not expired, renewed if needed. */
  access(athleteId: string, vendor: string): Promise<TokenAccess>;
  /** Reports that the vendor answered 401 to this token. Returns another token, renewed unless that has happened already. */
  rejected(athleteId: string, vendor: string, token: string): Promise<TokenAccess>;
  /** False once this connection has ended. */
  isConnected(connection: string): Promise<boolean>;
}

export const TOKENS = Symbol('token source');
