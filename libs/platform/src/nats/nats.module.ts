import { setTimeout as pause } from 'node:timers/promises';
import { Global, Inject, Module, type OnApplicationShutdown } from '@nestjs/common';
import { jetstreamManager } from '@nats-io/jetstream';
import { type NatsConnection } from '@nats-io/transport-node';
import { type Config } from '../config/config.js';
import { HealthRegistry } from '../health/health-registry.js';
import { CONFIG } from '../process/surroundings.module.js';
import { connectNats, watchLink } from './connect.js';
import { ensureStream, ensureStreamExists } from './ensure.js';
import { EventBus } from './event-bus.js';
import { eventStreams } from './streams.js';

export const NATS = Symbol('nats');

const DRAIN_MS = 2_000;

@Global()
@Module({
  providers: [
    {
      provide: NATS,
      inject: [CONFIG, HealthRegistry],
      useFactory: async (config: Config, health: HealthRegistry) => {
        const connection = await connectNats(config.nats.url, 'pacekeeper');
        const manager = await jetstreamManager(connection);
        const streams = eventStreams(config.nats);
        for (const definition of streams) await ensureStream(manager, definition);
        const link = watchLink(connection);
        health.register('nats', async () => {
          if (!link.isUp()) throw new Error('disconnected, reconnecting');
          // Somebody may have deleted a stream, or brought up an empty server: made again rather than only missed.
          for (const definition of streams) await ensureStreamExists(manager, definition);
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

  /** Flushes what was published, then closes; a frozen server is not waited for. */
  async onApplicationShutdown(): Promise<void> {
    if (this.connection.isClosed()) return;
    await Promise.race([this.connection.drain(), pause(DRAIN_MS, undefined, { ref: false })]);
    await this.connection.close();
  }
}
