import { BullModule } from '@nestjs/bull';
import { Module } from '@nestjs/common';
import { QueueModule } from '#platform';
import { RateLimitModule } from '#rate-limit';
import { StravaModule } from '#strava';
import { Activities } from './activities.js';
import { ActivityHistory } from './activity-history.js';
import { ActivityStore } from './activity-store.js';
import { ImportForecast } from './imports/import-forecast.js';
import { ImportNews } from './imports/import-news.js';
import { ImportJobs } from './imports/import-jobs.js';
import { IMPORT_QUEUE, ImportTicks } from './imports/import-ticks.js';
import { ImportProcessor } from './imports/import-processor.js';
import { ImportRunner } from './imports/import-runner.js';
import { Imports } from './imports/imports.js';
import { ImportSweep } from './imports/import-sweep.js';
import { ImportWatch } from './imports/import-watch.js';
import { LiveChanges } from './live-changes.js';
import { personalRecords } from './personal-records.js';
import { Reconciliation } from './reconciliation.js';
import { Retention } from './retention.js';

/** What a person asks for: lists, and imports to begin and watch. */
@Module({
  imports: [QueueModule, BullModule.registerQueue({ name: IMPORT_QUEUE }), RateLimitModule],
  providers: [
    Activities,
    ActivityHistory,
    ActivityStore,
    ImportForecast,
    ImportJobs,
    Imports,
    ImportTicks,
    ImportWatch,
    ...personalRecords,
  ],
  exports: [
    Activities,
    ActivityHistory,
    ActivityStore,
    ImportJobs,
    Imports,
    ImportTicks,
    ImportWatch,
    ...personalRecords,
  ],
})
export class ActivitiesModule {}

/** The work itself. */
@Module({
  imports: [ActivitiesModule, StravaModule],
  providers: [ImportNews, ImportProcessor, ImportRunner, ImportSweep, LiveChanges, Reconciliation, Retention],
  exports: [ImportNews, LiveChanges],
})
export class ActivitiesWorkModule {}
