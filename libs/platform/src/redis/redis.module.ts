import { Global, Inject, Module, type OnApplicationShutdown } from '@nestjs/common';
import { Redis } from 'ioredis';
import { type Config } from '../config/config.js';
import { HealthRegistry } from '../health/health-registry.js';
import { type Logger } from '../logging/logger.js';
import { CONFIG, LOGGER } from '../process/surroundings.module.js';
import { createRedis } from './redis.js';

export const REDIS = Symbol('redis');

@Global()
@Module({
  providers: [
    {
      provide: REDIS,
      inject: [CONFIG, LOGGER, HealthRegistry],
      useFactory: (config: Config, logger: Logger, health: HealthRegistry) => {
        const redis = createRedis(config.redis, logger);
        health.register('redis', async () => {
          await redis.ping();
        });
        return redis;
      },
    },
  ],
  exports: [REDIS],
})
export class RedisModule implements OnApplicationShutdown {
  constructor(@Inject(REDIS) private readonly redis: Redis) {}

  onApplicationShutdown(): void {
    this.redis.disconnect();
  }
}
