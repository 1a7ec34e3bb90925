import { z } from 'zod';
import { type Subject } from '#platform';
import { date, minutes, moment, name } from './fields.js';

export const VENDORS = ['oura', 'whoop', 'unknown'] as const;
export type Vendor = (typeof VENDORS)[number];

const schema = z.object({
  record: z.object({
    userId: name,
    date,
    durationMinutes: minutes,
    qualityScore: z.number().min(0).max(100).optional(),
    vendor: z.enum(VENDORS),
    capturedAt: moment,
  }),
});

export type SleepNormalizedStored = z.output<typeof schema>;

export const sleepNormalizedStored: Subject<SleepNormalizedStored> = {
  name: 'athlete-ally.sleep.normalized-stored',
  topic: 'sleep_normalized_stored',
  schema,
};
