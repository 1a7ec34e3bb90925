import { type Config } from '../config/config.js';
import { type Logger } from '../logging/logger.js';
import { createRedis, type RedisClient } from './redis.js';

const nameOf = ({ keyPrefix }: Config['redis'], channel: string) => `${keyPrefix}${channel}`;

/**
 * Returns a function that wakes all subscribers of a channel. A wake-up may be lost, so a subscriber also polls. `about`: an id that the
 * wake-up names.
 */
export function wakeUpPublisher(
  config: Config['redis'],
  redis: RedisClient,
  logger: Logger,
): (channel: string, about?: string) => void {
  return (channel, about = '') =>
    void redis
      .publish(nameOf(config, channel), about)
      .catch((err: unknown) => logger.debug({ err, channel }, 'wake-up not sent'));
}

export interface WakeUpSubscription {
  close(): void;
}

/** Calls `wake` for each wake-up, on a connection of its own: a subscribed Redis connection accepts no other commands. */
export function subscribeToWakeUps<Channel extends string>(
  config: Config['redis'],
  logger: Logger,
  channels: readonly Channel[],
  wake: (channel: Channel, about: string) => void,
): WakeUpSubscription {
  const byName = new Map(channels.map((channel) => [nameOf(config, channel), channel]));
  const redis = createRedis(config, logger, { autoResubscribe: false });
  redis.on('ready', () => {
    redis
      .subscribe(...byName.keys())
      .catch((err: unknown) => logger.debug({ err }, 'not subscribed to wake-ups'));
  });
  redis.on('message', (name: string, about: string) => {
    const channel = byName.get(name);
    if (channel) wake(channel, about);
  });
  return { close: () => redis.disconnect() };
}
