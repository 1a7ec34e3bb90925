import { setTimeout as pause } from 'node:timers/promises';
import { Global, Inject, Module, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { jetstreamManager } from '@nats-io/jetstream';
import { type NatsConnection } from '@nats-io/transport-node';
import { type Config } from '../config/config.js';
import { HealthRegistry } from '../health/health-registry.js';
import { CONFIG } from '../process/surroundings.module.js';
import { connectNats, type Link, watchLink } from './connect.js';
import { DeadLetters } from './dead-letters.js';
import { ensureStream, ensureStreamExists } from './ensure.js';
import { EventBus } from './event-bus.js';
import { eventStreams } from './streams.js';

export const NATS = Symbol('nats');
const LINK = Symbol('nats link');

const DRAIN_MS = 2_000;

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
  constructor(
    @Inject(NATS) private readonly connection: NatsConnection,
    @Inject(LINK) private readonly link: Link,
    @Inject(CONFIG) private readonly config: Config,
    private readonly health: HealthRegistry,
  ) {}

  async onModuleInit(): Promise<void> {
    const manager = await jetstreamManager(this.connection);
    const streams = eventStreams(this.config.nats);
    for (const definition of streams) await ensureStream(manager, definition);
    this.health.register('nats', async () => {
      if (!this.link.isUp()) throw new Error('disconnected, reconnecting');
      // Somebody may have deleted a stream, or brought up an empty server: made again rather than only missed.
      for (const definition of streams) await ensureStreamExists(manager, definition);
    });
  }

  /** Flushes what was published, then closes; a frozen server is not waited for. */
  async onApplicationShutdown(): Promise<void> {
    if (this.connection.isClosed()) return;
    await Promise.race([this.connection.drain(), pause(DRAIN_MS, undefined, { ref: false })]);
    await this.connection.close();
  }
}
