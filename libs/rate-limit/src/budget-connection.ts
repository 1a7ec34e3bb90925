import { type Redis } from 'ioredis';
import { type Config, createRedis, type Logger } from '#platform';

/**
 * A connection of the budget's own. It neither queues nor repeats commands: repeated on a restarted server, a question would
 * be answered by its ignorance.
 */
export function budgetConnection(config: Config['redis'], logger: Logger): Redis {
  return createRedis(config, logger, {
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
  });
}
