import { setTimeout as pause } from 'node:timers/promises';
import { Global, Inject, Module, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { jetstreamManager, type JetStreamManager } from '@nats-io/jetstream';
import { type NatsConnection } from '@nats-io/transport-node';
import { type Config } from '../config/config.js';
import { HealthRegistry } from '../health/health-registry.js';
import { type Logger } from '../logging/logger.js';
import { CONFIG, LOGGER } from '../process/surroundings.module.js';
import { connectNats, type Link, watchLink } from './connect.js';
import { DeadLetters } from './dead-letters.js';
import { ensureStream, ensureStreamExists } from './ensure.js';
import { EventBus } from './event-bus.js';
import { eventStreams, type StreamDefinition } from './streams.js';

export const NATS = Symbol('nats');
const LINK = Symbol('nats link');

const DRAIN_MS = 2_000;
const LOOK_MS = 5_000;

@Global()
@Module({
  providers: [
    {
      provide: NATS,
      inject: [CONFIG],
      useFactory: (config: Config) => connectNats(config.nats.url, 'pacekeeper'),
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
  ],
  exports: [NATS, EventBus, DeadLetters],
})
export class NatsModule implements OnModuleInit, OnApplicationShutdown {
  private readonly streams: readonly StreamDefinition[];
  private looking: NodeJS.Timeout | undefined;

  constructor(
    @Inject(NATS) private readonly connection: NatsConnection,
    @Inject(LINK) private readonly link: Link,
    @Inject(LOGGER) private readonly logger: Logger,
    @Inject(CONFIG) config: Config,
    private readonly health: HealthRegistry,
  ) {
    this.streams = eventStreams(config.nats);
  }

  async onModuleInit(): Promise<void> {
    const manager = await jetstreamManager(this.connection);
    for (const definition of this.streams) await ensureStream(manager, definition);
    this.health.register('nats', async () => {
      if (!this.link.isUp()) throw new Error('disconnected, reconnecting');
      await this.makeMissing(manager);
    });
    this.looking = setInterval(() => void this.look(manager), LOOK_MS);
    this.looking.unref();
  }

  /** Without being asked, too: not everybody is probed. */
  private async look(manager: JetStreamManager): Promise<void> {
    if (!this.link.isUp()) return;
    await this.makeMissing(manager).catch((err: unknown) => this.logger.warn({ err }, 'streams not seen to'));
  }

  /** Somebody may have deleted a stream, or brought up an empty server: made again rather than only missed. */
  private async makeMissing(manager: JetStreamManager): Promise<void> {
    for (const definition of this.streams) await ensureStreamExists(manager, definition);
  }

  /** Flushes what was published, then closes; a frozen server is not waited for. */
  async onApplicationShutdown(): Promise<void> {
    clearInterval(this.looking);
    if (this.connection.isClosed()) return;
    await Promise.race([this.connection.drain(), pause(DRAIN_MS, undefined, { ref: false })]);
    await this.connection.close();
  }
}
