import { setTimeout as pause } from 'node:timers/promises';
import { Global, Inject, Module, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { type JetStreamManager } from '@nats-io/jetstream';
import { type NatsConnection } from '@nats-io/transport-node';
import { ClockDifferences } from '../clock/clock-differences.js';
import { type Config } from '../config/config.js';
import { HealthRegistry } from '../health/health-registry.js';
import { type Logger } from '../logging/logger.js';
import { CONFIG, LOGGER } from '../process/surroundings.module.js';
import { connectNatsAtStart, type Link, requireSafeNats, waitForNats, watchLink } from './connect.js';
import { ConsumerStates } from './consumer-states.js';
import { DeadLetters } from './dead-letters.js';
import { ensureStreamExists } from './ensure.js';
import { EventBus } from './event-bus.js';
import { prepareStreams } from './prepare-streams.js';
import { CORE_STREAM, eventStreams, type StreamDefinition } from './streams.js';
import { timeOfNats } from './time-of-nats.js';

export const NATS = Symbol('nats');
const LINK = Symbol('nats link');

const DRAIN_MS = 2_000;
const CHECK_MS = 5_000;

@Global()
@Module({
  providers: [
    {
      provide: NATS,
      inject: [CONFIG, LOGGER],
      useFactory: (config: Config, logger: Logger) => connectNatsAtStart(config, logger, 'pacekeeper'),
    },
    { provide: LINK, inject: [NATS], useFactory: watchLink },
    {
      provide: EventBus,
      inject: [NATS, LINK],
      useFactory: (connection: NatsConnection, link: Link) => new EventBus(connection, link),
    },
    {
      provide: DeadLetters,
      inject: [NATS, LINK],
      useFactory: (connection: NatsConnection, link: Link) => new DeadLetters(connection, link),
    },
    {
      provide: ConsumerStates,
      inject: [NATS, LINK],
      useFactory: (connection: NatsConnection, link: Link) => new ConsumerStates(connection, link),
    },
  ],
  exports: [NATS, ConsumerStates, EventBus, DeadLetters],
})
/** Connects to NATS at the start, creates or updates our streams, and registers the readiness probe. */
export class NatsModule implements OnModuleInit, OnApplicationShutdown {
  private readonly streams: readonly StreamDefinition[];
  private checking: NodeJS.Timeout | undefined;

  constructor(
    @Inject(NATS) private readonly connection: NatsConnection,
    @Inject(LINK) private readonly link: Link,
    @Inject(LOGGER) private readonly logger: Logger,
    @Inject(CONFIG) private readonly config: Config,
    private readonly health: HealthRegistry,
    private readonly clocks: ClockDifferences,
  ) {
    this.streams = eventStreams(config.nats);
  }

  async onModuleInit(): Promise<void> {
    // The server may have frozen since the connection was made.
    const manager = await waitForNats(this.config, this.logger, () =>
      prepareStreams(this.connection, this.streams, this.logger),
    );
    this.health.register('nats', async () => {
      if (!this.link.isUp()) throw new Error('disconnected, reconnecting');
      // The address may lead to another server than at the start.
      requireSafeNats(this.connection.info ?? {}, this.config.nats.replicas);
      await this.createMissingStreams(manager);
    });
    this.clocks.watchServer('nats', () => timeOfNats(manager, CORE_STREAM));
    this.checking = setInterval(() => void this.checkStreams(manager), CHECK_MS);
    this.checking.unref();
  }

  /** Runs every 5 s, so that missing streams are created even if nothing calls the readiness probe. */
  private async checkStreams(manager: JetStreamManager): Promise<void> {
    if (!this.link.isUp()) return;
    await this.createMissingStreams(manager).catch((err: unknown) =>
      this.logger.warn({ err }, 'the NATS streams could not be checked'),
    );
  }

  /** Creates streams that an operator deleted, or that a new, empty server lacks. */
  private async createMissingStreams(manager: JetStreamManager): Promise<void> {
    for (const definition of this.streams) await ensureStreamExists(manager, definition);
  }

  /** Flushes published messages for at most 2 s, then closes the connection. */
  async onApplicationShutdown(): Promise<void> {
    clearInterval(this.checking);
    if (this.connection.isClosed()) return;
    await Promise.race([this.connection.drain(), pause(DRAIN_MS, undefined, { ref: false })]);
    await this.connection.close();
  }
}
