import { DiscardPolicy, RetentionPolicy, StorageType, type StreamConfig } from '@nats-io/jetstream';
import { nanos } from '@nats-io/transport-node';
import { type Config } from '../config/config.js';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

export const CORE_STREAM = 'AA_CORE_HOT';
export const DLQ_STREAM = 'AA_DLQ';
export const ADVISORIES = 'AA_ADVISORY';

export type StreamDefinition = Partial<StreamConfig> & { readonly name: string; readonly subjects: string[] };

/**
 * The deployment's streams: what happened, what could not be understood, and what the server gave up. Their times are not divided by
 * TIME_SCALE: a duplicate window may not be longer than the messages live.
 */
export function eventStreams({ dlqRetentionDays }: Config['nats']): StreamDefinition[] {
  return [
    {
      ...DURABLE,
      name: CORE_STREAM,
      subjects: ['athlete-ally.>'],
      max_age: nanos(7 * DAY_MS),
      // Longer than a vendor goes on retrying a webhook.
      duplicate_window: nanos(2 * HOUR_MS),
    },
    {
      ...DURABLE,
      name: DLQ_STREAM,
      subjects: ['dlq.>'],
      max_age: nanos(dlqRetentionDays * DAY_MS),
      // The same failure may be reported by the consumer and by the server's advisory.
      duplicate_window: nanos(2 * HOUR_MS),
    },
    {
      ...DURABLE,
      name: ADVISORIES,
      // The server says only once, and to whoever listens then, that it gives a message up.
      subjects: [`$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES.${CORE_STREAM}.*`],
      max_age: nanos(7 * DAY_MS),
    },
  ];
}

const DURABLE = {
  storage: StorageType.File,
  // Work-queue retention would lose or strand a message whose deliveries are used up.
  retention: RetentionPolicy.Limits,
  discard: DiscardPolicy.Old,
} as const;
