import {
  type BeforeApplicationShutdown,
  type DynamicModule,
  Inject,
  Module,
  type ModuleMetadata,
  type OnApplicationBootstrap,
} from '@nestjs/common';
import { type Config, CONFIG, Database, LOGGER, type Logger, TIME_SCALE, type TimeScale } from '#platform';
import { StravaClient } from '../strava-client.js';
import { EventEffects } from './event-effects.js';
import { EventQueue } from './event-queue.js';
import { EventWorker } from './event-worker.js';
import { listenForNudges, type Nudges } from './nudge.js';
import { STRAVA_ATHLETES, STRAVA_EVENTS, type StravaAthletes, type StravaEvents } from './strava-events.js';

/** For a worker: what Strava's events lead to. */
@Module({})
export class StravaEventsModule implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private nudges: Nudges | undefined;

  /** `imports` provide the `StravaClient`, `STRAVA_EVENTS` and `STRAVA_ATHLETES`. */
  static with(imports: ModuleMetadata['imports']): DynamicModule {
    const worker = {
      provide: EventWorker,
      inject: [Database, StravaClient, STRAVA_ATHLETES, STRAVA_EVENTS, TIME_SCALE, LOGGER],
      useFactory: (
        database: Database,
        client: StravaClient,
        athletes: StravaAthletes,
        events: StravaEvents,
        scale: TimeScale,
        logger: Logger,
      ) => {
        const effects = new EventEffects(client, athletes, events);
        return new EventWorker(new EventQueue(database, scale), effects, scale, logger);
      },
    };
    return { module: StravaEventsModule, imports, providers: [worker] };
  }

  constructor(
    private readonly worker: EventWorker,
    @Inject(CONFIG) private readonly config: Config,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  onApplicationBootstrap(): void {
    this.worker.start();
    this.nudges = listenForNudges(this.config.redis, this.logger, () => this.worker.wake());
  }

  async beforeApplicationShutdown(): Promise<void> {
    this.nudges?.close();
    await this.worker.stop();
  }
}
