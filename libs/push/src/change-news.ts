import {
  type BeforeApplicationShutdown,
  Inject,
  Injectable,
  Module,
  type OnApplicationBootstrap,
} from '@nestjs/common';
import { Counter } from 'prom-client';
import {
  Changes,
  type Config,
  CONFIG,
  LOGGER,
  type Logger,
  REDIS,
  type RedisClient,
  subscribeToWakeUps,
  wakeUpPublisher,
  type WakeUpSubscription,
} from '#platform';

const CHANNEL = 'changes';

const sequenced = new Counter({
  name: 'changes_sequenced_total',
  help: 'Changes that got their place in the log',
});

/**
 * Gives committed changes their place in the log, and tells all processes through Redis. A wake-up may be lost, so every listener polls as
 * well.
 */
@Injectable()
export class ChangeNews implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly listeners: Array<() => void> = [];
  private readonly publish: (channel: string) => void;
  private subscription: WakeUpSubscription | undefined;

  constructor(
    private readonly changes: Changes,
    @Inject(CONFIG) private readonly config: Pick<Config, 'redis'>,
    @Inject(REDIS) redis: RedisClient,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {
    this.publish = wakeUpPublisher(config.redis, redis, logger);
  }

  onApplicationBootstrap(): void {
    this.subscription = subscribeToWakeUps(this.config.redis, this.logger, [CHANNEL], () => this.wakeAll());
  }

  beforeApplicationShutdown(): void {
    this.subscription?.close();
  }

  /** Calls `wake` after each wake-up, for as long as the process lives. */
  listen(wake: () => void): void {
    this.listeners.push(wake);
  }

  /** See `Changes.sequence`. */
  async sequence(batches?: number): Promise<void> {
    const moved = await this.changes.sequence(batches);
    if (moved === 0) return;
    sequenced.inc(moved);
    // Listeners of this process need no Redis.
    this.wakeAll();
    this.publish(CHANNEL);
  }

  private wakeAll(): void {
    for (const wake of this.listeners) wake();
  }
}

/** One subscription to Redis for all parts of the lib. */
@Module({ providers: [ChangeNews], exports: [ChangeNews] })
export class ChangeNewsModule {}
