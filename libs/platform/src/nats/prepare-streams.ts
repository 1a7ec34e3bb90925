import { JetStreamApiError, type JetStreamManager, jetstreamManager } from '@nats-io/jetstream';
import { type NatsConnection } from '@nats-io/transport-node';
import { DependencyUnavailable } from '../errors/app-error.js';
import { type Logger } from '../logging/logger.js';
import { reasonOf, ServerNotReady, ServerUnfit } from '../process/server-failure.js';
import { natsFailure, singleServer } from './connect.js';
import { ensureStream } from './ensure.js';
import { type StreamDefinition } from './streams.js';

// Codes of the API of JetStream.
const NO_CLUSTER = 10_074;
const TOO_FEW_PEERS = 10_005;
const TOO_FEW_RESOURCES = 10_023;

/**
 * Creates the streams, or updates them to their definitions, at the start. Logs each stream whose number of replicas changes.
 *
 * Throws ServerNotReady if too few servers of a cluster run now: another server may join. Throws ServerUnfit if a single server is asked for
 * replicas. A stream that is raised keeps its messages; new replicas get copies after this resolves.
 */
export async function prepareStreams(
  connection: NatsConnection,
  definitions: readonly StreamDefinition[],
  logger: Logger,
): Promise<JetStreamManager> {
  const manager = await jetstreamManager(connection).catch((error: unknown) => {
    throw notAnswered(connection, 'JetStream', error);
  });
  for (const definition of definitions) {
    const { name: stream, num_replicas: replicas } = definition;
    const before = await ensureStream(manager, definition).catch((error: unknown) => {
      throw refusedReplicas(definition, error) ?? notAnswered(connection, `the stream ${stream}`, error);
    });
    if (before !== undefined && before !== replicas)
      logger.info({ stream, before, replicas }, 'the number of replicas of a NATS stream has changed');
  }
  return manager;
}

function refusedReplicas({ name, num_replicas = 1 }: StreamDefinition, error: unknown): Error | undefined {
  if (!(error instanceof JetStreamApiError) || num_replicas === 1) return undefined;
  if (error.code === NO_CLUSTER) return new ServerUnfit(singleServer(num_replicas), { cause: error });
  if (error.code !== TOO_FEW_PEERS && error.code !== TOO_FEW_RESOURCES) return undefined;
  return new ServerNotReady(
    `it refuses ${num_replicas} replicas of the stream ${name} (${error.message}): start at least ${num_replicas} servers with JetStream, or lower NATS_REPLICAS`,
    { cause: error },
  );
}

/** In a cluster, a server that answers does not mean that JetStream answers. */
function notAnswered(connection: NatsConnection, name: string, error: unknown): unknown {
  if (!connection.info?.cluster || !(natsFailure(error) instanceof DependencyUnavailable)) return error;
  const fix = 'a cluster needs the majority of its servers, and of those that keep the stream';
  return new ServerNotReady(`${name} does not answer (${reasonOf(error)}): ${fix}`, { cause: error });
}
