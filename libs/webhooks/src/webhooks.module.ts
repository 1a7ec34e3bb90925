import {
  type BeforeApplicationShutdown,
  Global,
  Inject,
  Module,
  type OnApplicationBootstrap,
} from '@nestjs/common';
import { Connections, Vault } from '#connections';
import {
  Clock,
  CONFIG,
  Database,
  LOGGER,
  type Logger,
  OperatorActions,
  REDIS,
  type RedisClient,
  SignedTimes,
  subscribeToWakeUps,
  Sweeps,
  TIME_SCALE,
  type TimeScale,
  wakeUpPublisher,
  type WakeUpSubscription,
  type Worker,
  Workers,
} from '#platform';
import { Budgets } from '#rate-limit';
import {
  BudgetsModule,
  type ProductConfig,
  subscriptionCall,
  VendorCallers,
  type VendorId,
  VENDORS,
  VendorsModule,
  vendorsWith,
  type Webhook,
} from '#vendors';
import { EventHandlers } from './handlers.js';
import { InboxGauges } from './inbox-gauges.js';
import { EventQueue, purgeEvents } from './event-queue.js';
import { EventRecords } from './event-records.js';
import { EventWork } from './event-work.js';
import { SubscriptionKeeper } from './subscription-keeper.js';
import { SubscriptionStore } from './subscription-store.js';
import { WebhookEvents } from './webhook-events.js';
import { WebhookInbox } from './webhook-inbox.js';

const HOUR_MS = 3_600_000;

/** The Redis channel of wake-ups. A worker that misses one finds the event at its next poll. */
const channelOf = (vendor: VendorId) => `webhooks:${vendor}` as const;

/** Stores vendors' events, and shows them to operators. */
@Module({
  providers: [
    EventRecords,
    OperatorActions,
    WebhookEvents,
    {
      provide: SubscriptionStore,
      inject: [Database, CONFIG, LOGGER],
      useFactory: (database: Database, { encryptionKeys }: ProductConfig, logger: Logger) =>
        new SubscriptionStore(database, new Vault(encryptionKeys), logger),
    },
    {
      provide: WebhookInbox,
      inject: [Database, SubscriptionStore, CONFIG, Clock, REDIS, LOGGER],
      useFactory: (
        database: Database,
        subscriptions: SubscriptionStore,
        config: ProductConfig,
        clock: Clock,
        redis: RedisClient,
        logger: Logger,
      ) => {
        const wakeUp = wakeUpPublisher(config.redis, redis, logger);
        const times = new SignedTimes(vendorsWith('webhook'), clock, logger);
        return new WebhookInbox(database, subscriptions, config, times, (vendor) =>
          wakeUp(channelOf(vendor)),
        );
      },
    },
  ],
  exports: [EventRecords, SubscriptionStore, WebhookEvents, WebhookInbox],
})
export class WebhooksModule {}

/** For a worker: handles the stored events and keeps the subscriptions. Features register with `EventHandlers` in their modules' constructors. */
@Global()
@Module({
  imports: [BudgetsModule, VendorsModule, WebhooksModule],
  providers: [EventHandlers, InboxGauges],
  exports: [EventHandlers],
})
export class WebhooksWorkModule implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly vendors = vendorsWith('webhook');
  private readonly workers: ReadonlyMap<VendorId, Pick<Worker<never, never>, 'start' | 'wake'>>;
  private readonly keepers: ReadonlyArray<Pick<Worker<never, never>, 'start'>>;
  private wakeUps: WakeUpSubscription | undefined;

  constructor(
    private readonly handlers: EventHandlers,
    connections: Connections,
    workers: Workers,
    private readonly subscriptions: SubscriptionStore,
    private readonly callers: VendorCallers,
    private readonly budgets: Budgets,
    private readonly database: Database,
    private readonly sweeps: Sweeps,
    @Inject(CONFIG) private readonly config: ProductConfig,
    @Inject(TIME_SCALE) private readonly scale: TimeScale,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {
    const workOf = (vendor: VendorId) =>
      new EventWork(new EventQueue(vendor, database), connections, handlers, scale, logger);
    this.workers = new Map(this.vendors.map((vendor) => [vendor, workers.of(workOf(vendor))]));
    const keepers = this.vendors.flatMap((vendor) => this.keeperOf(vendor) ?? []);
    this.keepers = keepers.map((keeper) => workers.of(keeper));
  }

  onApplicationBootstrap(): void {
    this.handlers.assertComplete();
    for (const worker of this.workers.values()) worker.start();
    for (const keeper of this.keepers) keeper.start();
    const byChannel = new Map(this.vendors.map((vendor) => [channelOf(vendor), this.workers.get(vendor)]));
    this.wakeUps = subscribeToWakeUps(this.config.redis, this.logger, [...byChannel.keys()], (channel) =>
      byChannel.get(channel)?.wake(),
    );
    const keptMs = this.scale.wait(this.config.retentionDays.webhookEvents * 24 * HOUR_MS);
    this.sweeps.every('past webhook events', HOUR_MS, () => purgeEvents(this.database, keptMs));
  }

  beforeApplicationShutdown(): void {
    this.wakeUps?.close();
  }

  /** Undefined if the configuration lacks a client, a webhook secret or PUBLIC_URL. */
  private keeperOf(vendor: VendorId): SubscriptionKeeper | undefined {
    const { subscriptions: part, signsPerSubscription: signs } = VENDORS[vendor].webhook as Webhook;
    if (!part) return undefined;
    const config = this.config.vendors[vendor];
    const path = part.callbackPath(config);
    // PUBLIC_URL must be set explicitly: an app has one subscription, and a developer's machine must not take it from production.
    if (path === undefined || !this.config.http.isPublic) {
      this.logger.info(`no ${vendor} subscription: client, webhook secrets or PUBLIC_URL are not configured`);
      return undefined;
    }
    const call = subscriptionCall(VENDORS[vendor], this.callers.of(vendor), this.budgets.of(vendor));
    const api = part.at(config, call);
    const plan = { vendor, part, api, signs, callbackUrl: `${this.config.http.publicUrl}${path}` };
    return new SubscriptionKeeper(plan, this.subscriptions, this.scale, this.logger);
  }
}
