import { DiscardPolicy, RetentionPolicy, StorageType, type StreamConfig } from '@nats-io/jetstream';
import { nanos } from '@nats-io/transport-node';
import { type Config } from '../config/config.js';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

export type StreamDefinition = Partial<StreamConfig> & { readonly name: string; readonly subjects: string[] };

/**
 * The deployment's two streams: what happened, and what could not be understood. Their times are not divided by
 * TIME_SCALE: a duplicate window may not be longer than the messages live.
 */
export function eventStreams({ dlqRetentionDays }: Config['nats']): StreamDefinition[] {
  return [
    {
      ...DURABLE,
      name: 'AA_CORE_HOT',
      subjects: ['athlete-ally.>'],
      max_age: nanos(7 * DAY_MS),
      // Longer than a vendor goes on retrying a webhook.
      duplicate_window: nanos(2 * HOUR_MS),
    },
    { ...DURABLE, name: 'AA_DLQ', subjects: ['dlq.>'], max_age: nanos(dlqRetentionDays * DAY_MS) },
  ];
}

const DURABLE = {
  storage: StorageType.File,
  // Work-queue retention would lose or strand a message whose deliveries are used up.
  retention: RetentionPolicy.Limits,
  discard: DiscardPolicy.Old,
} as const;
