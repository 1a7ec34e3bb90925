import {
  type ConsumerConfig,
  JetStreamApiError,
  type JetStreamManager,
  JetStreamApiCodes,
} from '@nats-io/jetstream';
import { type StreamDefinition } from './streams.js';

export type ConsumerDefinition = Partial<ConsumerConfig> & { readonly durable_name: string };

/** Creates the stream, or brings an existing one to the definition; fields we do not name stay as they are. */
export async function ensureStream(manager: JetStreamManager, definition: StreamDefinition): Promise<void> {
  const existing = await orUndefined(manager.streams.info(definition.name), JetStreamApiCodes.StreamNotFound);
  if (!existing) await manager.streams.add(definition);
  else await manager.streams.update(definition.name, { ...existing.config, ...definition });
}

/** Creates the stream if it is missing; asks one question where it is not. */
export async function ensureStreamExists(
  manager: JetStreamManager,
  definition: StreamDefinition,
): Promise<void> {
  const existing = await orUndefined(manager.streams.info(definition.name), JetStreamApiCodes.StreamNotFound);
  if (!existing) await manager.streams.add(definition);
}

export async function ensureConsumer(
  manager: JetStreamManager,
  stream: string,
  definition: ConsumerDefinition,
): Promise<void> {
  const existing = await orUndefined(
    manager.consumers.info(stream, definition.durable_name),
    JetStreamApiCodes.ConsumerNotFound,
  );
  if (!existing) await manager.consumers.add(stream, definition);
  else await manager.consumers.update(stream, definition.durable_name, { ...existing.config, ...definition });
}

async function orUndefined<T>(asked: Promise<T>, notFoundCode: number): Promise<T | undefined> {
  try {
    return await asked;
  } catch (error) {
    if (error instanceof JetStreamApiError && error.code === notFoundCode) return undefined;
    throw error;
  }
}
