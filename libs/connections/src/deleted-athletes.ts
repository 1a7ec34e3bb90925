import { type BeforeApplicationShutdown, Inject, Injectable } from '@nestjs/common';
import {
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
import { AthleteDirectory } from './athlete-directory.js';
import { Athletes } from './athletes.js';

const CHANNEL = 'deleted-athletes';

/**
 * Tells the apis through Redis that an athlete's row is deleted. They forget the id, so that the next request of a person who returns creates
 * a new row. Without a row, a night that the person sends is refused. If the message is lost, the caches forget the id within a minute.
 */
@Injectable()
export class DeletedAthletes implements BeforeApplicationShutdown {
  /** Called by the process that has deleted the row. */
  readonly tell: (athleteId: string) => void;
  private subscription: WakeUpSubscription | undefined;

  constructor(
    private readonly athletes: Athletes,
    private readonly directory: AthleteDirectory,
    @Inject(CONFIG) private readonly config: Pick<Config, 'redis'>,
    @Inject(REDIS) redis: RedisClient,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {
    const publish = wakeUpPublisher(config.redis, redis, logger);
    this.tell = (athleteId) => publish(CHANNEL, athleteId);
  }

  /** Begins to listen, in a process that answers requests. */
  listen(): void {
    this.subscription = subscribeToWakeUps(this.config.redis, this.logger, [CHANNEL], (_, athleteId) => {
      this.athletes.forget(athleteId);
      this.directory.forget(athleteId);
    });
  }

  beforeApplicationShutdown(): void {
    this.subscription?.close();
  }
}
