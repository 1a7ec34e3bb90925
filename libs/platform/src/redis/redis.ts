import { Redis, type RedisOptions } from 'ioredis';
import { type Config } from '../config/config.js';
import { type Logger } from '../logging/logger.js';

const CONNECT_TIMEOUT_MS = 1_000;
// Covers a frozen server and the wait for a reconnect alike. A route may meet a frozen Redis and then a frozen Postgres
// (3.3 s), and still has to answer within five seconds.
const COMMAND_TIMEOUT_MS = 1_000;
const SOCKET_TIMEOUT_MS = 5_000;
const LONGEST_RECONNECT_PAUSE_MS = 1_000;

/**
 * The one way to a Redis connection: reconnects for ever, fails a command after one second, and puts the key prefix
 * before every key, those of scripts included.
 */
export function createRedis(config: Config['redis'], logger: Logger, options: RedisOptions = {}): Redis {
  const redis = new Redis(config.url, {
    keyPrefix: config.keyPrefix,
    connectTimeout: CONNECT_TIMEOUT_MS,
    commandTimeout: COMMAND_TIMEOUT_MS,
    maxRetriesPerRequest: 1,
    // A half-open link sends no reset: a socket that owes an answer this long is replaced.
    socketTimeout: SOCKET_TIMEOUT_MS,
    // After a failover the old master, now a replica, refuses writes for ever.
    reconnectOnError: (error) => error.message.startsWith('READONLY'),
    retryStrategy: (attempt) => Math.min(50 * 2 ** attempt, LONGEST_RECONNECT_PAUSE_MS),
    ...options,
  });
  redis.on('error', (err: Error) => logger.warn({ err }, 'redis connection failed'));
  return redis;
}
