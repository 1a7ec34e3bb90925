import { Inject, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { type NatsConnection } from '@nats-io/transport-node';
import { CORE_STREAM, deleteConsumer, LOGGER, type Logger, NATS } from '#platform';

// Releases before the common inbox kept events of vendors in NATS. The reconciliation finds the nights of events that still wait there.
const RETIRED = ['fetch-oura-sleep-durable', 'fetch-whoop-sleep-durable'];

/** Deletes consumers of earlier releases, which would hold messages that nothing reads. */
@Injectable()
export class RetiredConsumers implements OnApplicationBootstrap {
  constructor(
    @Inject(NATS) private readonly connection: NatsConnection,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  onApplicationBootstrap(): void {
    for (const durable of RETIRED)
      deleteConsumer(this.connection, CORE_STREAM, durable).catch((err: unknown) =>
        this.logger.warn({ err, durable }, 'consumer of an earlier release not deleted'),
      );
  }
}
