import {
  type ConsumerConfig,
  JetStreamApiError,
  type JetStreamManager,
  JetStreamApiCodes,
  jetstreamManager,
} from '@nats-io/jetstream';
import { type NatsConnection } from '@nats-io/transport-node';
import { type StreamDefinition } from './streams.js';

// A consumer with this number follows each change of its stream's replicas.
const AS_STREAM = 0;

export type ConsumerDefinition = Partial<ConsumerConfig> & { readonly durable_name: string };

/**
 * Creates the stream, or updates an existing one to the definition. Fields that the definition lacks stay unchanged. Returns the replicas
 * that an existing stream had before. New replicas get the messages after this resolves.
 */
export async function ensureStream(
  manager: JetStreamManager,
  definition: StreamDefinition,
): Promise<number | undefined> {
  const existing = await orUndefined(manager.streams.info(definition.name), JetStreamApiCodes.StreamNotFound);
  if (!existing) await manager.streams.add(definition);
  else await manager.streams.update(definition.name, { ...existing.config, ...definition });
  return existing?.config.num_replicas;
}

/** Creates the stream if it is missing. If the stream exists, this costs one request, and the stream is not updated. */
export async function ensureStreamExists(
  manager: JetStreamManager,
  definition: StreamDefinition,
): Promise<void> {
  const existing = await orUndefined(manager.streams.info(definition.name), JetStreamApiCodes.StreamNotFound);
  if (!existing) await manager.streams.add(definition);
}

/** Creates the durable consumer, or updates an existing one to the definition. It has as many replicas as its stream. */
export async function ensureConsumer(
  manager: JetStreamManager,
  stream: string,
  wanted: ConsumerDefinition,
): Promise<void> {
  const definition = { num_replicas: AS_STREAM, ...wanted };
  const existing = await orUndefined(
    manager.consumers.info(stream, definition.durable_name),
    JetStreamApiCodes.ConsumerNotFound,
  );
  if (!existing) await manager.consumers.add(stream, definition);
  else await manager.consumers.update(stream, definition.durable_name, { ...existing.config, ...definition });
}

/** Deletes a durable consumer; does nothing if there is none. */
export async function deleteConsumer(
  connection: NatsConnection,
  stream: string,
  durable: string,
): Promise<void> {
  const manager = await jetstreamManager(connection);
  await orUndefined(manager.consumers.delete(stream, durable), JetStreamApiCodes.ConsumerNotFound);
}

async function orUndefined<T>(request: Promise<T>, notFoundCode: number): Promise<T | undefined> {
  try {
    return await request;
  } catch (error) {
    if (error instanceof JetStreamApiError && error.code === notFoundCode) return undefined;
    throw error;
  }
}
