import { Global, Inject, Module, type OnApplicationShutdown } from '@nestjs/common';
import { ClockDifferences } from '../clock/clock-differences.js';
import { type Config } from '../config/config.js';
import { HealthRegistry } from '../health/health-registry.js';
import { type Logger } from '../logging/logger.js';
import { CONFIG, LOGGER } from '../process/surroundings.module.js';
import { probeRedis } from './redis-fitness.js';
import { createRedis, type RedisClient, timeOfRedis } from './redis.js';

export const REDIS = Symbol('redis');

@Global()
@Module({
  providers: [
    {
      provide: REDIS,
      inject: [CONFIG, LOGGER, HealthRegistry, ClockDifferences],
      useFactory: (config: Config, logger: Logger, health: HealthRegistry, clocks: ClockDifferences) => {
        const redis = createRedis(config.redis, logger);
        health.register('redis', () => probeRedis(redis));
        clocks.watchServer('redis', () => timeOfRedis(redis));
        return redis;
      },
    },
  ],
  exports: [REDIS],
})
/** Provides the process's Redis client and its readiness probe. */
export class RedisModule implements OnApplicationShutdown {
  constructor(@Inject(REDIS) private readonly redis: RedisClient) {}

  onApplicationShutdown(): void {
    this.redis.disconnect();
  }
}
