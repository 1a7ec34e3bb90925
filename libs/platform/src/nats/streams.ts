import { DiscardPolicy, RetentionPolicy, StorageType, type StreamConfig } from '@nats-io/jetstream';
import { nanos } from '@nats-io/transport-node';
import { type Config } from '../config/config.js';
import { CORE_KEPT_MS } from './event-lifetime.js';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

export const CORE_STREAM = 'AA_CORE_HOT';
export const DLQ_STREAM = 'AA_DLQ';
export const ADVISORIES = 'AA_ADVISORY';

export type StreamDefinition = Partial<StreamConfig> & { readonly name: string; readonly subjects: string[] };

/**
 * The streams of a deployment: events, dead letters, and the advisories of the server about messages that it gave up. A duplicate window
 * must not be longer than the lifetime of a message, so TIME_SCALE divides neither of these times.
 */
export function eventStreams({
  dlqRetentionDays,
  replicas,
}: Pick<Config['nats'], 'dlqRetentionDays' | 'replicas'>): StreamDefinition[] {
  const durable = { ...DURABLE, num_replicas: replicas };
  return [
    {
      ...durable,
      name: CORE_STREAM,
      subjects: ['athlete-ally.>'],
      max_age: nanos(CORE_KEPT_MS),
      // Longer than the time during which a vendor repeats a webhook.
      duplicate_window: nanos(2 * HOUR_MS),
    },
    {
      ...durable,
      name: DLQ_STREAM,
      subjects: ['dlq.>'],
      max_age: nanos(dlqRetentionDays * DAY_MS),
      // The consumer and the server's advisory may report the same failure.
      duplicate_window: nanos(2 * HOUR_MS),
    },
    {
      ...durable,
      name: ADVISORIES,
      // The server sends an advisory once. Without a stream, the advisory would be lost while no worker listens.
      subjects: [`$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES.${CORE_STREAM}.*`],
      max_age: nanos(7 * DAY_MS),
    },
  ];
}

const DURABLE = {
  storage: StorageType.File,
  // With work-queue retention, a message whose deliveries are used up would either be lost or never be deleted.
  retention: RetentionPolicy.Limits,
  discard: DiscardPolicy.Old,
} as const;
