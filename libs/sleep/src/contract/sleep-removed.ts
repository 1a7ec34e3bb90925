import { z } from 'zod';
import { type Subject } from '#platform';
import { date, name } from './fields.js';

const schema = z.object({ record: z.object({ userId: name, date }) });

export type SleepRemoved = z.output<typeof schema>;

/** Of that user and date there is no night any more. */
export const sleepRemoved: Subject<SleepRemoved> = {
  name: 'athlete-ally.sleep.removed',
  topic: 'sleep_removed',
  schema,
};
