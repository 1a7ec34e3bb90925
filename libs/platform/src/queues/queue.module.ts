import { BullModule } from '@nestjs/bull';
import { Module } from '@nestjs/common';
import { type QueueOptions } from 'bull';
import { type Redis, type RedisOptions } from 'ioredis';
import { type TimeScale } from '../clock/time-scale.js';
import { type Config } from '../config/config.js';
import { type Logger } from '../logging/logger.js';
import { CONFIG, LOGGER, TIME_SCALE } from '../process/surroundings.module.js';
import { createRedis } from '../redis/redis.js';

const LOCK_MS = 30_000;
// A worker's blocking command waits this long for a job (Bull: drainDelay, 5 s); a socket silent for longer is dead.
const BLOCKED_SOCKET_MS = 15_000;
const PAUSE_AFTER_FAILURE_MS = 500;
// A stalled job is rung again as often as needed: what may be done twice is decided by the rows.
const ANY_NUMBER = 1_000_000;

/** Bull with our connections. It puts its prefix before its keys itself, and insists on waiting for ever where it blocks. */
export function queueOptions(config: Config['redis'], scale: TimeScale, logger: Logger): QueueOptions {
  const guardMs = scale.guard(LOCK_MS);
  const create = (options: RedisOptions): Redis => createRedis({ ...config, keyPrefix: '' }, logger, options);
  const waiting: RedisOptions = {
    maxRetriesPerRequest: null,
    enableReadyCheck: false,
    commandTimeout: undefined,
    socketTimeout: BLOCKED_SOCKET_MS,
  };
  return {
    prefix: `${config.keyPrefix}bull`,
    createClient: (type) => create(type === 'client' ? {} : waiting),
    settings: {
      lockDuration: guardMs,
      stalledInterval: guardMs,
      maxStalledCount: ANY_NUMBER,
      retryProcessDelay: PAUSE_AFTER_FAILURE_MS,
    },
  };
}

@Module({
  imports: [
    BullModule.forRootAsync({
      inject: [CONFIG, TIME_SCALE, LOGGER],
      useFactory: (config: Config, scale: TimeScale, logger: Logger) =>
        queueOptions(config.redis, scale, logger),
    }),
  ],
})
export class QueueModule {}
