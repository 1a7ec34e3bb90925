import { validate as isUuid, v5 as uuidV5 } from 'uuid';

export type Role = 'athlete' | 'admin';

/** Who a verified token speaks for. */
export interface Caller {
  /** The athlete's id: the token's subject where that is a UUID, else derived from issuer and subject. */
  readonly athleteId: string;
  readonly subject: string;
  readonly issuer: string;
  readonly role: Role;
  readonly expiresAtMs: number;
}

// Fixed for ever: another namespace would give every athlete with a foreign subject a new, empty account.
const SUBJECT_NAMESPACE = '5f0c3c9e-6f0a-4d2b-9f4e-0f2f7c1d8a61';

export function athleteIdOf(issuer: string, subject: string): string {
  if (isUuid(subject)) return subject.toLowerCase();
  return uuidV5(`${issuer}\n${subject}`, SUBJECT_NAMESPACE);
}
