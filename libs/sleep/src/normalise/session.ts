import { hash } from 'node:crypto';
import { type SleepRawReceived } from '../contract/sleep-raw-received.js';
import { type Vendor } from '../contract/sleep-normalized-stored.js';

export type Source = 'ingest' | 'oura' | 'whoop';
export type SessionState = 'scored' | 'pending' | 'deleted';

/** A stretch of sleep as one event tells of it. */
export interface SleepSession {
  readonly userId: string;
  readonly source: Source;
  readonly recordId: string;
  readonly date: string;
  readonly vendor: Vendor;
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

/** `receivedAtMs`: when the stream got the event, which is when a night without a time of its own was captured. */
export function sessionOf(
  { eventId, payload }: SleepRawReceived,
  bytes: Uint8Array,
  receivedAtMs: number,
): SleepSession {
  const { userId, date, durationMinutes, capturedAt, raw, record } = payload;
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
    capturedAtMs: capturedAt === undefined ? receivedAtMs : Date.parse(capturedAt),
    payloadHash: hashOf(bytes),
    eventId,
    raw: raw === undefined ? null : JSON.stringify(raw),
    receivedAtMs,
  };
}

type Raw = SleepRawReceived['payload']['raw'];

export function vendorOf(raw: Raw): Vendor {
  const source = raw?.source;
  return source === 'oura' || source === 'whoop' ? source : 'unknown';
}

export function qualityScoreOf(raw: Raw): number | null {
  const score = raw?.qualityScore;
  return typeof score === 'number' ? Math.min(100, Math.max(0, score)) : null;
}

/** Between two that say they are equally new, the same one wins everywhere. */
function hashOf(bytes: Uint8Array): bigint {
  return BigInt.asIntN(64, BigInt(`0x${hash('sha256', bytes, 'hex').slice(0, 16)}`));
}
