import {
  type BeforeApplicationShutdown,
  Inject,
  Module,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
} from '@nestjs/common';
import { Vault } from '#connections';
import {
  type Config,
  CONFIG,
  Database,
  LOGGER,
  type Logger,
  Sweeps,
  TIME_SCALE,
  type TimeScale,
  type Worker,
  Workers,
} from '#platform';
import { EndpointHealth } from '../endpoints/endpoint-health.js';
import { WebhookEndpoints } from '../endpoints/webhook-endpoints.js';
import { EndpointDeliveries } from './deliveries.js';
import { ChangeNews, ChangeNewsModule } from '../change-news.js';
import { DeliveryPlanner } from './delivery-planner.js';
import { DeliveryQueue } from './delivery-queue.js';
import { SentDeliveries, UnsentDeliveries } from './delivery-records.js';
import { EndpointCaller } from './endpoint-caller.js';
import { EndpointWork } from './endpoint-work.js';

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
const GIVE_UP_MS = 5 * DAY_MS;
// The receiver's time to answer. TIME_SCALE does not divide it, since it passes outside of our processes.
const ATTEMPT_MS = 10_000;

/** The endpoints of apps and their deliveries, as the api shows them. */
@Module({
  imports: [ChangeNewsModule],
  providers: [
    {
      provide: WebhookEndpoints,
      inject: [Database, CONFIG, TIME_SCALE],
      useFactory: (database: Database, { encryptionKeys, webhooks }: Config, scale: TimeScale) =>
        new WebhookEndpoints(database, new Vault(encryptionKeys), scale, webhooks),
    },
    {
      provide: EndpointDeliveries,
      inject: [Database, ChangeNews],
      useFactory: (database: Database, news: ChangeNews) => new EndpointDeliveries(database, news),
    },
    {
      provide: EndpointHealth,
      inject: [Database],
      useFactory: (database: Database) => new EndpointHealth(database),
    },
    UnsentDeliveries,
    SentDeliveries,
  ],
  exports: [WebhookEndpoints, EndpointDeliveries, EndpointHealth, UnsentDeliveries, SentDeliveries],
})
export class DeliveriesModule {}

/** For the worker: plans, sends and purges deliveries. */
@Module({ imports: [ChangeNewsModule, DeliveriesModule] })
export class DeliveriesWorkModule
  implements OnApplicationBootstrap, BeforeApplicationShutdown, OnApplicationShutdown
{
  private readonly caller: EndpointCaller;
  private readonly sender: Pick<Worker<never, never>, 'start' | 'wake'>;
  private readonly planner: DeliveryPlanner;

  constructor(
    workers: Workers,
    database: Database,
    private readonly deliveries: EndpointDeliveries,
    private readonly sweeps: Sweeps,
    news: ChangeNews,
    @Inject(CONFIG) private readonly config: Config,
    @Inject(TIME_SCALE) private readonly scale: TimeScale,
    @Inject(LOGGER) logger: Logger,
  ) {
    const { allowPrivate } = config.webhooks;
    this.caller = new EndpointCaller({ attemptMs: ATTEMPT_MS, allowPrivate });
    const queue = new DeliveryQueue(database, scale.wait(GIVE_UP_MS));
    const sender = workers.of(
      new EndpointWork(queue, this.caller, new Vault(config.encryptionKeys), scale, logger),
    );
    this.sender = sender;
    this.planner = new DeliveryPlanner(database, scale, logger, () => sender.wake());
    news.listen(() => this.planner.wake());
  }

  onApplicationBootstrap(): void {
    this.sender.start();
    this.planner.start();
    const keptMs = this.scale.wait(this.config.retentionDays.webhookDeliveries * DAY_MS);
    this.sweeps.every('past webhook deliveries', MINUTE_MS, () => this.deliveries.purge(keptMs));
  }

  beforeApplicationShutdown(): Promise<void> {
    return this.planner.stop();
  }

  /** After the workers have stopped, which waits for the attempts under way. */
  async onApplicationShutdown(): Promise<void> {
    await this.caller.close();
  }
}
