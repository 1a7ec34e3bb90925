import { z } from 'zod';
import { type Subject } from '#platform';
import { moment, name } from './fields.js';

const schema = z.object({
  vendor: z.enum(['oura', 'whoop']),
  /** The vendor's. */
  userId: name,
  objectId: name,
  /** `score`: of a day, which changes the sleeps of that day. */
  about: z.enum(['sleep', 'score']),
  isDeleted: z.boolean(),
  at: moment,
});

export type VendorEvent = z.output<typeof schema>;

/** Something has happened to a sleep at a vendor; what, its document says. */
export const vendorEvent: Subject<VendorEvent> = {
  name: 'athlete-ally.sleep.vendor-event',
  topic: 'sleep_vendor_event',
  schema,
};
