import { type IncomingHttpHeaders } from 'node:http';
import { timingSafeEqual } from 'node:crypto';
import { AppError } from '../errors/app-error.js';
import { type BrowserSession, type Person } from './caller.js';

/** The provider of a `SessionVerifier`. A process without it ignores cookies. */
export const SESSION_VERIFIER = Symbol('session verifier');

/** A person whose request has the cookie of a session. */
export type SignedIn = Person & { readonly session: BrowserSession };

/** Verifies sessions. A process may go on for 5 s with what it knows; another process may have ended the session meanwhile. */
export interface SessionVerifier {
  /** The secret of the session's cookie. Undefined if the request has no such cookie. */
  secretIn(cookies: string): string | undefined;
  /** Returns the person if this process knows the session without asking a server. */
  recall(secret: string): SignedIn | undefined;
  /** Throws Unauthenticated, or DependencyUnavailable if the session is not known here and the server does not answer. */
  verify(secret: string): Promise<SignedIn>;
}

/** A request that changes something came with the cookie of a session, but without the token that only our page knows. */
class CsrfTokenMissing extends AppError {
  override readonly code = 'CSRF_TOKEN_MISSING';
  override readonly kind = 'forbidden';
  constructor() {
    super('Send the csrf_token of GET /v1/session in the header X-CSRF-Token');
  }
}

interface Sent {
  readonly method: string;
  readonly headers: IncomingHttpHeaders;
}

/**
 * Throws CsrfTokenMissing for a write without the session's token. `SameSite=Strict` alone would not do: a page of another host of the same
 * site can send the cookie. It cannot send this header, because CORS does not allow it.
 */
export function requireCsrfToken({ method, headers }: Sent, { csrfToken }: BrowserSession): void {
  if (method === 'GET' || method === 'HEAD') return;
  const given = Buffer.from(String(headers['x-csrf-token'] ?? ''));
  const wanted = Buffer.from(csrfToken);
  if (given.length !== wanted.length || !timingSafeEqual(given, wanted)) throw new CsrfTokenMissing();
}
