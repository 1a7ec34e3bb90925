import { type ServiceKey } from './caller.js';

/** The provider of a `KeyVerifier`. A process without it refuses every service key. */
export const KEY_VERIFIER = Symbol('key verifier');

/** Verifies service keys. A process may go on for 5 s with what it knows; another process may have created or revoked keys meanwhile. */
export interface KeyVerifier {
  /** Returns the key if this process knows it without asking a server. */
  recall(key: string): ServiceKey | undefined;
  /** Throws Unauthenticated, or DependencyUnavailable if the key is not known here and the server does not answer. */
  verify(key: string): Promise<ServiceKey>;
}

export const SERVICE_KEY_PREFIX = 'pk_';

export function isServiceKey(token: string): boolean {
  return token.startsWith(SERVICE_KEY_PREFIX);
}
