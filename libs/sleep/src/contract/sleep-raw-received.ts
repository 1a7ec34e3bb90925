import { z } from 'zod';
import { type Subject } from '#platform';
import { date, minutes, moment, name, raw, typed, userId } from './fields.js';
import { NATIVE_VENDORS } from './native-vendor.js';

/** The body of an ingest request. Unknown fields are dropped. */
export const sleepIngestBody = z.object(
  {
    userId,
    date,
    durationMinutes: minutes,
    capturedAt: moment.optional(),
    raw: raw.optional(),
  },
  { error: typed('object') },
);

/** Identifies a vendor's record. A day may have several; a record may be revised, not scored yet, or deleted. */
const vendorRecord = z.object({
  vendor: z.enum(NATIVE_VENDORS),
  id: name,
  revision: z.int().min(0),
  nap: z.boolean(),
  state: z.enum(['scored', 'pending', 'deleted']),
});

export type SleepIngestBody = z.output<typeof sleepIngestBody>;

const schema = z.object({
  eventId: name,
  payload: sleepIngestBody.extend({ record: vendorRecord.optional() }),
  /**
   * True if the client sent no `capturedAt` and the api filled in its own time. The stream's time of receipt is used instead,
   * because the clocks of two processes may differ by seconds.
   */
  capturedOnReceipt: z.literal(true).optional(),
});

export type SleepRawReceived = z.output<typeof schema>;

export const sleepRawReceived: Subject<SleepRawReceived> = {
  name: 'athlete-ally.sleep.raw-received',
  topic: 'sleep_raw_received',
  schema,
};
