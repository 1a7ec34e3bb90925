import { validate as isUuid, v5 as uuidV5 } from 'uuid';

export type Role = 'athlete' | 'admin';

/** The athlete whom a request is about. */
export interface AthleteIdentity {
  /**
   * The athlete's id. If the subject of the token is a UUID, the id is the subject. Otherwise the id is derived from issuer and subject.
   * `KnownAthleteGuard` replaces the id of an athlete who was stored before an issuer was configured.
   */
  readonly athleteId: string;
  /** The token's subject; in lower case if it is a UUID. */
  readonly subject: string;
  readonly issuer: string;
  /** The name of the account on the pages that people see. It comes only from claims of the verified token, or else from the subject. */
  readonly account: string;
  /** The service key or the operator that acts for the athlete: `key:<id>`, `operator:<subject>`. Absent: the athlete's own token. */
  readonly actor?: string;
}

/** The person that a verified token names. If an operator acts for an athlete, the identity is that of the athlete. */
export interface Person extends AthleteIdentity {
  readonly kind: 'person';
  readonly role: Role;
  /** The end of the token or of the session. */
  readonly expiresAtMs: number;
  /** Absent: the request has the token itself. */
  readonly session?: BrowserSession;
}

/** The session whose cookie a request has. */
export interface BrowserSession {
  /** The hash of the cookie's secret, as hexadecimal text. */
  readonly hash: string;
  readonly csrfToken: string;
}

/** The facts about a service key that requests need. */
export interface ServiceKey {
  readonly id: string;
  readonly name: string;
  readonly scopes: readonly string[];
}

/** A service key that acts for one athlete. */
interface ServiceForAthlete extends AthleteIdentity {
  readonly kind: 'service';
  readonly key: ServiceKey;
}

/** A service key on behalf of all athletes. */
interface ServiceForAll {
  readonly kind: 'service';
  readonly key: ServiceKey;
  readonly athleteId?: undefined;
}

/** The sender of a request that is about one athlete. */
export type Caller = Person | ServiceForAthlete;

/** The sender of a request to a route that may span all athletes. */
export type SpanningCaller = Caller | ServiceForAll;

// This value must never change. With another namespace, every athlete whose subject is not a UUID would get a new, empty account.
const SUBJECT_NAMESPACE = '5f0c3c9e-6f0a-4d2b-9f4e-0f2f7c1d8a61';

/** Lower-cases a UUID, because athletes and nights are looked up by it. Any other subject stays unchanged. */
export function canonicalSubject(subject: string): string {
  return isUuid(subject) ? subject.toLowerCase() : subject;
}

export function athleteIdOf(issuer: string, subject: string): string {
  if (isUuid(subject)) return canonicalSubject(subject);
  return uuidV5(`${issuer}\n${subject}`, SUBJECT_NAMESPACE);
}

const LONGEST_CLAIM = 100;

/**
 * Returns `name (email)`. The subject replaces an email that is missing or not verified. Without a name, the function returns the email or
 * the subject alone. The name never stands alone: a person may choose any name, even the name of another person.
 */
export function accountOf(claims: Readonly<Record<string, unknown>>, subject: string): string {
  const name = printable(claims.name);
  const email = claims.email_verified === false ? '' : printable(claims.email);
  const identity = email || printable(subject);
  return name && name !== identity ? `${name} (${identity})` : identity;
}

/** Removes control characters, line breaks and characters that change the writing direction. */
function printable(claim: unknown): string {
  if (typeof claim !== 'string') return '';
  const line = claim.replace(/[\p{C}\s]+/gu, ' ').trim();
  return [...line].slice(0, LONGEST_CLAIM).join('');
}
