import {
  type BeforeApplicationShutdown,
  Inject,
  Injectable,
  type OnApplicationBootstrap,
} from '@nestjs/common';
import { LOGGER, type Logger, Loop } from '#platform';
import { ChangeNews } from '../change-news.js';

// The longest time from a commit to the log, while nobody reads it. A look at an empty outbox takes 0.1 ms.
const EVERY_MS = 200;

/** Gives committed changes their place in the log. Every worker does so; the database lets one at a time. */
@Injectable()
export class Sequencer implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly loop: Loop;

  constructor(news: ChangeNews, @Inject(LOGGER) logger: Logger) {
    const pass = async () => {
      await news.sequence();
      return EVERY_MS;
    };
    this.loop = new Loop('sequencer of changes', pass, logger);
  }

  onApplicationBootstrap(): void {
    this.loop.start();
  }

  beforeApplicationShutdown(): Promise<void> {
    return this.loop.stop();
  }
}
