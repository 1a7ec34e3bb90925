import { z } from 'zod';
import { type Subject } from '#platform';
import { date, minutes, moment, name } from './fields.js';
import { NATIVE_VENDORS, type NativeVendor } from './native-vendor.js';

/** `unknown`: the night came from a client that named no vendor. */
export type NightVendor = NativeVendor | 'unknown';
const VENDORS: readonly NightVendor[] = [...NATIVE_VENDORS, 'unknown'];

const storedSchema = z.object({
  record: z.object({
    userId: name,
    date,
    durationMinutes: minutes,
    qualityScore: z.number().min(0).max(100).optional(),
    vendor: z.enum(VENDORS),
    capturedAt: moment,
  }),
});
const removedSchema = z.object({ record: z.object({ userId: name, date }) });

export type SleepNormalizedStored = z.output<typeof storedSchema>;
export type SleepRemoved = z.output<typeof removedSchema>;

/** The night of a user and date is stored, or has changed. */
export const sleepNormalizedStored: Subject<SleepNormalizedStored> = {
  name: 'athlete-ally.sleep.normalized-stored',
  topic: 'sleep_normalized_stored',
  schema: storedSchema,
};

/** There is no longer a night of this user and date. */
export const sleepRemoved: Subject<SleepRemoved> = {
  name: 'athlete-ally.sleep.removed',
  topic: 'sleep_removed',
  schema: removedSchema,
};
