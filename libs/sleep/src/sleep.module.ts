import { Inject, Module, type OnApplicationBootstrap } from '@nestjs/common';
import { ConsumerStates, LOGGER, type Logger, observeConsumers } from '#platform';
import { VendorsModule } from '#vendors';
import { EventHandlers, WebhooksModule } from '#webhooks';
import { SleepIngest } from './ingest/sleep-ingest.js';
import { HeldRecords } from './native/held-records.js';
import { NativeNights } from './native/native-nights.js';
import { RetiredConsumers } from './native/retired-consumers.js';
import { SleepEvents } from './native/sleep-events.js';
import { NightRecords } from './nights/night-records.js';
import { Nights } from './nights/nights.js';
import { SLEEP_CONSUMERS } from './normalise/normaliser.js';
import { SleepConsumer } from './normalise/sleep-consumer.js';
import { SleepStore } from './normalise/sleep-store.js';
import { Erasures } from './records/erasures.js';
import { NightRetention } from './records/night-retention.js';
import { SleepRemains } from './records/sleep-remains.js';
import { ReconciliationStore } from './reconcile/reconciliation-store.js';
import { SleepReconciliation } from './reconcile/sleep-reconciliation.js';
import { SliceComparison } from './reconcile/slice-comparison.js';
import { sleepRecords } from './records/sleep-records.js';
import { UnpublishedNights } from './records/unpublished-nights.js';

/** For the api and other libs: takes, lists, exports and deletes nights. */
@Module({
  providers: [SleepIngest, NightRecords, Nights, ...sleepRecords],
  exports: [SleepIngest, NightRecords, Nights, ...sleepRecords],
})
export class SleepModule implements OnApplicationBootstrap {
  constructor(
    private readonly consumers: ConsumerStates,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  onApplicationBootstrap(): void {
    observeConsumers(this.consumers, SLEEP_CONSUMERS, this.logger);
  }
}

/** For the worker: stores and publishes nights, fetches vendors' records, reconciles with vendors' lists, and erases messages. */
@Module({
  imports: [SleepModule, VendorsModule, WebhooksModule],
  providers: [
    SleepConsumer,
    SleepStore,
    Erasures,
    NightRetention,
    UnpublishedNights,
    SleepRemains,
    HeldRecords,
    NativeNights,
    SleepEvents,
    RetiredConsumers,
    ReconciliationStore,
    SliceComparison,
    SleepReconciliation,
  ],
  exports: [SleepRemains],
})
export class SleepWorkModule {
  constructor(handlers: EventHandlers, events: SleepEvents) {
    handlers.register('sleep', events);
    handlers.register('sleep_score', events);
  }
}
