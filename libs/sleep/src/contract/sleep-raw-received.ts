import { z } from 'zod';
import { type Subject } from '#platform';
import { date, minutes, moment, name, raw, typed } from './fields.js';

/** What an ingest request says; anything else in it is left out. */
export const sleepIngestBody = z.object(
  {
    userId: name,
    date,
    durationMinutes: minutes,
    capturedAt: moment.optional(),
    raw: raw.optional(),
  },
  { error: typed('object') },
);

/** Which of a vendor's records this is: there may be several a day, revised, unscored for a while, or gone. */
const vendorRecord = z.object({
  vendor: z.enum(['oura', 'whoop']),
  id: name,
  revision: z.int().min(0),
  nap: z.boolean(),
  state: z.enum(['scored', 'pending', 'deleted']),
});

export type SleepIngestBody = z.output<typeof sleepIngestBody>;
export type VendorRecord = z.output<typeof vendorRecord>;

const schema = z.object({
  eventId: name,
  payload: sleepIngestBody.extend({ record: vendorRecord.optional() }),
});

export type SleepRawReceived = z.output<typeof schema>;

export const sleepRawReceived: Subject<SleepRawReceived> = {
  name: 'athlete-ally.sleep.raw-received',
  topic: 'sleep_raw_received',
  schema,
};
