import { hash } from 'node:crypto';
import { type VendorId } from '#vendors';
import { type SleepRawReceived } from '../contract/sleep-raw-received.js';
import { type NightVendor } from '../contract/night-events.js';
import { NATIVE_VENDORS } from '../contract/native-vendor.js';

/** `ingest`: our own API took the night. */
export type NightSource = 'ingest' | VendorId;
export type SessionState = 'scored' | 'pending' | 'deleted';

/** One sleep as one event describes it. */
export interface SleepSession {
  readonly userId: string;
  readonly source: NightSource;
  readonly recordId: string;
  readonly date: string;
  readonly vendor: NightVendor;
  readonly durationMinutes: number;
  readonly qualityScore: number | null;
  readonly nap: boolean;
  readonly state: SessionState;
  readonly revision: number;
  readonly capturedAtMs: number;
  readonly payloadHash: bigint;
  readonly eventId: string;
  readonly raw: string | null;
  readonly receivedAtMs: number;
}

/**
 * `receivedAtMs`: the time at which the stream got the event. It replaces a time of capture that is missing, or that a client has set to a
 * later time.
 */
export function sessionOf(
  { eventId, payload, capturedOnReceipt }: SleepRawReceived,
  bytes: Uint8Array,
  receivedAtMs: number,
): SleepSession {
  const { userId, date, durationMinutes, capturedAt, raw, record } = payload;
  const capturedAtMs =
    capturedAt === undefined || capturedOnReceipt === true ? receivedAtMs : Date.parse(capturedAt);
  return {
    userId,
    source: record?.vendor ?? 'ingest',
    recordId: record?.id ?? date,
    date,
    vendor: vendorOf(raw),
    durationMinutes,
    qualityScore: qualityScoreOf(raw),
    nap: record?.nap ?? false,
    state: record?.state ?? 'scored',
    revision: record?.revision ?? 0,
    // A client whose clock is a day ahead would otherwise refuse all other versions of its nights for a day. A vendor's times are compared
    // only with each other.
    capturedAtMs: record ? capturedAtMs : Math.min(capturedAtMs, receivedAtMs),
    payloadHash: hashOf(bytes),
    eventId,
    raw: raw === undefined ? null : JSON.stringify(raw),
    receivedAtMs,
  };
}

type Raw = SleepRawReceived['payload']['raw'];

export function vendorOf(raw: Raw): NightVendor {
  const source = raw?.source;
  return NATIVE_VENDORS.find((vendor) => vendor === source) ?? 'unknown';
}

export function qualityScoreOf(raw: Raw): number | null {
  const score = raw?.qualityScore;
  return typeof score === 'number' ? Math.min(100, Math.max(0, score)) : null;
}

/** Breaks ties between equal timestamps: the greater hash wins, so that every replica decides alike. */
function hashOf(bytes: Uint8Array): bigint {
  return BigInt.asIntN(64, BigInt(`0x${hash('sha256', bytes, 'hex').slice(0, 16)}`));
}

/** The newest session of each record, sorted by key: an upsert may not touch a row twice, and two workers must lock rows in one order. */
export function newestOfEach(sessions: readonly SleepSession[]): SleepSession[] {
  const newest = new Map<string, SleepSession>();
  for (const session of sessions) {
    const key = `${session.userId}\n${session.source}\n${session.recordId}`;
    const known = newest.get(key);
    if (!known || isNewer(session, known)) newest.set(key, session);
  }
  return [...newest].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, session]) => session);
}

/** Must decide as the guard of save-sessions.sql does. */
function isNewer(one: SleepSession, other: SleepSession): boolean {
  if (one.revision !== other.revision) return one.revision > other.revision;
  if (one.capturedAtMs !== other.capturedAtMs) return one.capturedAtMs > other.capturedAtMs;
  const more = completenessOf(one) - completenessOf(other);
  return more === 0 ? one.payloadHash > other.payloadHash : more > 0;
}

/**
 * Decides between two versions of a record with the same time: the one with a score is the later one. A vendor may score a record without
 * a new time, or its score may have an earlier time than the record itself.
 */
export function completenessOf({
  state,
  qualityScore,
}: Pick<SleepSession, 'state' | 'qualityScore'>): number {
  return (state === 'pending' ? 0 : 2) + (qualityScore === null ? 0 : 1);
}
