import { type SleepRecord, type SleepSource, type VendorId } from '#vendors';
import { type SleepRawReceived } from '../contract/sleep-raw-received.js';
import { type NativeVendor } from '../contract/native-vendor.js';

export type Payload = SleepRawReceived['payload'];

// The highest revision, so that no earlier revision that arrives later brings the record back.
const LAST_REVISION = Number.MAX_SAFE_INTEGER;

/** `requestedAt`: a time before the request. It dates a record whose vendor dates no changes. */
export function payloadOf(userId: string, vendor: VendorId, record: SleepRecord, requestedAt: Date): Payload {
  const { id, revision, nap, state, date, durationMinutes, updatedAt, qualityScore, document } = record;
  return {
    userId,
    date,
    durationMinutes,
    capturedAt: (updatedAt ?? requestedAt).toISOString(),
    raw: { ...document, source: vendor, ...(qualityScore === null ? {} : { qualityScore }) },
    record: { vendor, id, revision, nap, state },
  };
}

interface DeletedRecord {
  readonly vendor: NativeVendor;
  readonly objectId: string;
  readonly eventTime: Date;
  /** A time before the request that the vendor answered with 404. */
  readonly requestedAt: Date;
}

/**
 * If dates are ids, the record's date is its id, and a night may come under that id again. Otherwise it is the date of the event;
 * save-sessions.sql keeps the date of an existing record.
 */
export function deletedRecord(
  userId: string,
  { vendor, objectId, eventTime, requestedAt }: DeletedRecord,
  { namedBy }: Pick<SleepSource, 'namedBy'>,
): Payload {
  const at = (namedBy === 'date' ? requestedAt : eventTime).toISOString();
  return {
    userId,
    date: namedBy === 'date' ? objectId : at.slice(0, 10),
    durationMinutes: 0,
    capturedAt: at,
    raw: { source: vendor },
    record: {
      vendor,
      id: objectId,
      revision: namedBy === 'date' ? 0 : LAST_REVISION,
      nap: false,
      state: 'deleted',
    },
  };
}
