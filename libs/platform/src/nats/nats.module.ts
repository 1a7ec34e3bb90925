import { Global, Inject, Module, type OnApplicationShutdown } from '@nestjs/common';
import { jetstreamManager } from '@nats-io/jetstream';
import { type NatsConnection } from '@nats-io/transport-node';
import { type Config } from '../config/config.js';
import { HealthRegistry } from '../health/health-registry.js';
import { CONFIG } from '../process/surroundings.module.js';
import { connectNats, watchLink } from './connect.js';
import { ensureStream } from './ensure.js';
import { EventBus } from './event-bus.js';
import { eventStreams } from './streams.js';

export const NATS = Symbol('nats');

@Global()
@Module({
  providers: [
    {
      provide: NATS,
      inject: [CONFIG, HealthRegistry],
      useFactory: async (config: Config, health: HealthRegistry) => {
        const connection = await connectNats(config.nats.url, 'pacekeeper');
        const manager = await jetstreamManager(connection);
        for (const definition of eventStreams(config.nats)) await ensureStream(manager, definition);
        const link = watchLink(connection);
        health.register('nats', async () => {
          if (!link.isUp()) throw new Error('disconnected, reconnecting');
          await manager.getAccountInfo();
        });
        return connection;
      },
    },
    {
      provide: EventBus,
      inject: [NATS],
      useFactory: (connection: NatsConnection) => new EventBus(connection),
    },
  ],
  exports: [NATS, EventBus],
})
export class NatsModule implements OnApplicationShutdown {
  constructor(@Inject(NATS) private readonly connection: NatsConnection) {}

  /** Flushes what was published, then closes. */
  async onApplicationShutdown(): Promise<void> {
    if (!this.connection.isClosed()) await this.connection.drain();
  }
}
