import { BullModule } from '@nestjs/bull';
import { Module } from '@nestjs/common';
import { type QueueOptions } from 'bull';
import { type RedisOptions } from 'ioredis';
import { type TimeScale } from '../clock/clock.js';
import { type Config } from '../config/config.js';
import { type Logger } from '../logging/logger.js';
import { CONFIG, LOGGER, TIME_SCALE } from '../process/surroundings.module.js';
import { parseRedisUrl } from '../redis/redis-url.js';
import { createRedis } from '../redis/redis.js';
import { leaseLength } from '../work/lease.js';

const LOCK_MS = 30_000;
// A worker's blocking command waits 5 s for a job (Bull's drainDelay), so a socket that is silent for 15 s is dead.
const BLOCKED_SOCKET_MS = 15_000;
const PAUSE_AFTER_FAILURE_MS = 500;
// No limit for repeating a stalled job: the Postgres rows decide whether work is due, so a repeated tick does no harm.
const NO_LIMIT = 1_000_000;

/** Options for Bull with our Redis connections. Bull adds the key prefix itself. Its blocking connections must have no command timeout. */
function queueOptions(config: Config['redis'], scale: TimeScale, logger: Logger): QueueOptions {
  const guardMs = leaseLength(scale, LOCK_MS);
  const create = (options: RedisOptions) => createRedis({ ...config, keyPrefix: '' }, logger, options);
  // Bull's scripts use keys of one queue and of all queues together, so in a Cluster all of them are in one slot.
  const name = parseRedisUrl(config.url).kind === 'cluster' ? '{bull}' : 'bull';
  const waiting: RedisOptions = {
    maxRetriesPerRequest: null,
    enableReadyCheck: false,
    commandTimeout: undefined,
    socketTimeout: BLOCKED_SOCKET_MS,
  };
  return {
    prefix: `${config.keyPrefix}${name}`,
    createClient: (type) => create(type === 'client' ? {} : waiting),
    settings: {
      lockDuration: guardMs,
      stalledInterval: guardMs,
      maxStalledCount: NO_LIMIT,
      retryProcessDelay: PAUSE_AFTER_FAILURE_MS,
    },
  };
}

/** Provides the connection of Bull queues. */
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
