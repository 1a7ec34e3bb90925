import { BullModule } from '@nestjs/bull';
import { Module } from '@nestjs/common';
import { QueueModule } from '#platform';
import { BudgetsModule, VendorsModule } from '#vendors';
import { EventHandlers } from '#webhooks';
import { Activities } from './activities.js';
import { ActivityEvents, Uploads } from './activity-events.js';
import { ActivityHistory } from './activity-history.js';
import { ActivityStore } from './activity-store.js';
import { ImportChanges } from './imports/import-changes.js';
import { ImportForecast } from './imports/import-forecast.js';
import { ImportGauge } from './imports/import-gauge.js';
import { ImportList } from './imports/import-list.js';
import { ImportNews } from './imports/import-news.js';
import { ImportJobs } from './imports/import-jobs.js';
import { IMPORT_QUEUE, ImportTicks } from './imports/import-ticks.js';
import { ImportBatches, ImportProcessor, ImportRunner } from './imports/import-runner.js';
import { ImportSettlement } from './imports/import-settlement.js';
import { Imports } from './imports/imports.js';
import { ImportSweep } from './imports/import-sweep.js';
import { ImportWatch } from './imports/import-watch.js';
import { PendingImports } from './imports/pending-imports.js';
import { personalRecords } from './personal-records.js';
import { HistoryListing } from './reconcile/history-listing.js';
import { MissingActivities } from './reconcile/missing-activities.js';
import { Reconciliation } from './reconcile/reconciliation.js';
import { ReconciliationCalls } from './reconcile/reconciliation-calls.js';
import { HistoryRows } from './reconcile/history-rows.js';
import { Retention } from './retention.js';

/** For the api and for other libs. Lists activities; begins and watches imports. */
@Module({
  imports: [QueueModule, BullModule.registerQueue({ name: IMPORT_QUEUE }), BudgetsModule, VendorsModule],
  providers: [
    Activities,
    ActivityHistory,
    ActivityStore,
    ImportChanges,
    ImportForecast,
    ImportJobs,
    ImportList,
    Imports,
    ImportTicks,
    ImportWatch,
    ...personalRecords,
  ],
  exports: [
    BullModule,
    Activities,
    ActivityHistory,
    ActivityStore,
    ImportChanges,
    ImportForecast,
    ImportJobs,
    ImportList,
    Imports,
    ImportTicks,
    ImportWatch,
    ...personalRecords,
  ],
})
export class ActivitiesModule {}

/** For the worker: imports, webhook changes, reconciliation and retention. */
@Module({
  imports: [ActivitiesModule, BudgetsModule, VendorsModule],
  providers: [
    ActivityEvents,
    HistoryListing,
    ImportBatches,
    ImportGauge,
    ImportNews,
    ImportProcessor,
    ImportRunner,
    ImportSettlement,
    ImportSweep,
    MissingActivities,
    PendingImports,
    Reconciliation,
    ReconciliationCalls,
    HistoryRows,
    Retention,
    Uploads,
  ],
  exports: [ImportNews, Uploads],
})
export class ActivitiesWorkModule {
  constructor(handlers: EventHandlers, events: ActivityEvents) {
    handlers.register('activity', events);
  }
}
