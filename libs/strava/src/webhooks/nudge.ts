import { type Redis } from 'ioredis';
import { type Config, createRedis, type Logger } from '#platform';

const channelOf = ({ keyPrefix }: Config['redis']) => `${keyPrefix}webhooks:strava`;

/** Tells the workers that an event has come. Whoever does not hear it finds the event at its next look. */
export function nudger(config: Config['redis'], redis: Redis, logger: Logger): () => void {
  return () =>
    void redis
      .publish(channelOf(config), '')
      .catch((err: unknown) => logger.debug({ err }, 'workers not woken'));
}

export interface Nudges {
  close(): void;
}

/** Calls `wake` for each nudge, on a connection of its own: one that listens can do nothing else. */
export function listenForNudges(config: Config['redis'], logger: Logger, wake: () => void): Nudges {
  const redis = createRedis(config, logger, { autoResubscribe: false });
  redis.on('ready', () => {
    redis
      .subscribe(channelOf(config))
      .catch((err: unknown) => logger.debug({ err }, 'not listening for nudges'));
  });
  redis.on('message', wake);
  return { close: () => redis.disconnect() };
}
