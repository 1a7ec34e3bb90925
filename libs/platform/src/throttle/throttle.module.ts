import { Module } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { type Redis } from 'ioredis';
import { type Logger } from '../logging/logger.js';
import { LOGGER } from '../process/surroundings.module.js';
import { REDIS } from '../redis/redis.module.js';
import { Throttle } from './throttle.js';
import { ThrottleGuard } from './throttle.guard.js';

/** Import it after the auth module: global guards run in the order of their modules. */
@Module({
  providers: [
    {
      provide: Throttle,
      inject: [REDIS, LOGGER],
      useFactory: (redis: Redis, logger: Logger) => new Throttle(redis, logger),
    },
    { provide: APP_GUARD, useClass: ThrottleGuard },
  ],
})
export class ThrottleModule {}
