import { z } from 'zod';
import { type Subject } from '#platform';
import { moment, name } from './fields.js';

export const NATIVE_VENDORS = ['oura', 'whoop'] as const;
export type NativeVendor = (typeof NATIVE_VENDORS)[number];

const schema = z.object({
  vendor: z.enum(NATIVE_VENDORS),
  /** The vendor's. */
  userId: name,
  objectId: name,
  /** `score`: of a day, which changes the sleeps of that day. */
  about: z.enum(['sleep', 'score']),
  isDeleted: z.boolean(),
  at: moment,
});

export type VendorEvent = z.output<typeof schema>;

/** Something has happened to a sleep at a vendor; what, its document says. One that must wait does not hold up the other's. */
export const vendorEvents: Readonly<Record<NativeVendor, Subject<VendorEvent>>> = {
  oura: subjectOf('oura'),
  whoop: subjectOf('whoop'),
};

function subjectOf(vendor: NativeVendor): Subject<VendorEvent> {
  return { name: `athlete-ally.sleep.vendor-event.${vendor}`, topic: 'sleep_vendor_event', schema };
}
