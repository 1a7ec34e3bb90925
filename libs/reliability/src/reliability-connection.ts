import { type Redis, type RedisOptions } from 'ioredis';
import { type Config, createRedis, type Logger } from '#platform';

// Somebody in front of a television waits for it, and for a broker after it: four seconds in all.
const COMMAND_TIMEOUT_MS = 500;

/** For decisions that are worth something now or not at all: a command is neither queued nor repeated. */
export function reliabilityConnection(
  config: Config['redis'],
  logger: Logger,
  options: RedisOptions = {},
): Redis {
  return createRedis(config, logger, {
    commandTimeout: COMMAND_TIMEOUT_MS,
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    ...options,
  });
}

/** For what other processes have to say; it subscribes by itself whenever it is connected. */
export function listeningConnection(config: Config['redis'], logger: Logger): Redis {
  return createRedis(config, logger, { autoResubscribe: false });
}
