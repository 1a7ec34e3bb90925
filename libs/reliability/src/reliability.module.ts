import { Inject, Module, type OnApplicationShutdown } from '@nestjs/common';
import { type RedisOptions } from 'ioredis';
import { type Config, CONFIG, createRedis, LOGGER, type Logger, type RedisClient } from '#platform';
import { Coalescer } from './coalesce/coalescer.js';
import { DecisionLog } from './gate/decision-log.js';
import { logDecisions, observeGate, SessionGate } from './gate/session-gate.js';

const RELIABILITY_REDIS = Symbol('reliability redis');
const COALESCER_SUBSCRIBER = Symbol('coalescer subscriber');

// A player waits four seconds in all for a video link. The broker is called only after this command.
const COMMAND_TIMEOUT_MS = 500;

/** Provides the session gate and the coalescer, on Redis connections of their own. */
@Module({
  providers: [
    {
      provide: RELIABILITY_REDIS,
      inject: [CONFIG, LOGGER],
      useFactory: (config: Config, logger: Logger) => reliabilityConnection(config.redis, logger),
    },
    {
      provide: COALESCER_SUBSCRIBER,
      inject: [CONFIG, LOGGER],
      useFactory: (config: Config, logger: Logger) => subscriberConnection(config.redis, logger),
    },
    {
      provide: SessionGate,
      inject: [RELIABILITY_REDIS, CONFIG],
      useFactory: (redis: RedisClient, { gate }: Config) => {
        const { capacity, perAddress, idleSeconds, graceSeconds } = gate;
        const sessions = new SessionGate(redis, {
          capacity,
          perAddress,
          idleMs: idleSeconds * 1_000,
          graceMs: graceSeconds * 1_000,
        });
        observeGate(sessions);
        return sessions;
      },
    },
    {
      provide: DecisionLog,
      inject: [RELIABILITY_REDIS, LOGGER],
      useFactory: (redis: RedisClient, logger: Logger) => {
        const log = new DecisionLog(redis, logger);
        logDecisions(log);
        return log;
      },
    },
    {
      provide: Coalescer,
      inject: [RELIABILITY_REDIS, COALESCER_SUBSCRIBER, LOGGER],
      useFactory: (redis: RedisClient, subscriber: RedisClient, logger: Logger) =>
        new Coalescer(redis, subscriber, logger),
    },
  ],
  exports: [SessionGate, DecisionLog, Coalescer],
})
export class ReliabilityModule implements OnApplicationShutdown {
  constructor(
    @Inject(RELIABILITY_REDIS) private readonly redis: RedisClient,
    @Inject(COALESCER_SUBSCRIBER) private readonly subscriber: RedisClient,
    private readonly log: DecisionLog,
  ) {}

  async onApplicationShutdown(): Promise<void> {
    await this.log.close();
    this.redis.disconnect();
    this.subscriber.disconnect();
  }
}

/** A connection that neither queues nor resends commands: a late decision is of no use to the caller. */
export function reliabilityConnection(
  config: Config['redis'],
  logger: Logger,
  options: RedisOptions = {},
): RedisClient {
  return createRedis(config, logger, {
    commandTimeout: COMMAND_TIMEOUT_MS,
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    ...options,
  });
}

/** A connection for subscribing. `WakeUps` subscribes again after each reconnect, so the client does not. */
export function subscriberConnection(config: Config['redis'], logger: Logger): RedisClient {
  return createRedis(config, logger, { autoResubscribe: false });
}
