import { Inject, Module, type OnApplicationShutdown } from '@nestjs/common';
import { type Redis } from 'ioredis';
import { type Config, CONFIG, LOGGER, type Logger } from '#platform';
import { Coalescer } from './coalesce/coalescer.js';
import { observeGate } from './gate/gate-metrics.js';
import { SessionGate } from './gate/session-gate.js';
import { listeningConnection, reliabilityConnection } from './reliability-connection.js';

const RELIABILITY_REDIS = Symbol('reliability redis');
const RELIABILITY_EARS = Symbol('reliability ears');

@Module({
  providers: [
    {
      provide: RELIABILITY_REDIS,
      inject: [CONFIG, LOGGER],
      useFactory: (config: Config, logger: Logger) => reliabilityConnection(config.redis, logger),
    },
    {
      provide: RELIABILITY_EARS,
      inject: [CONFIG, LOGGER],
      useFactory: (config: Config, logger: Logger) => listeningConnection(config.redis, logger),
    },
    {
      provide: SessionGate,
      inject: [RELIABILITY_REDIS, CONFIG],
      useFactory: (redis: Redis, { gate }: Config) => {
        const { capacity, idleSeconds, graceSeconds } = gate;
        const sessions = new SessionGate(redis, {
          capacity,
          idleMs: idleSeconds * 1_000,
          graceMs: graceSeconds * 1_000,
        });
        observeGate(sessions);
        return sessions;
      },
    },
    {
      provide: Coalescer,
      inject: [RELIABILITY_REDIS, RELIABILITY_EARS, LOGGER],
      useFactory: (redis: Redis, ears: Redis, logger: Logger) => new Coalescer(redis, ears, logger),
    },
  ],
  exports: [SessionGate, Coalescer],
})
export class ReliabilityModule implements OnApplicationShutdown {
  constructor(
    @Inject(RELIABILITY_REDIS) private readonly redis: Redis,
    @Inject(RELIABILITY_EARS) private readonly ears: Redis,
  ) {}

  onApplicationShutdown(): void {
    this.redis.disconnect();
    this.ears.disconnect();
  }
}
