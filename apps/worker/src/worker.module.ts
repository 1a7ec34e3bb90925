import { Module } from '@nestjs/common';
import { ActivitiesWorkModule } from '#activities';
import { ConnectionsModule } from '#connections';
import {
  AuthModule,
  DatabaseModule,
  EdgeModule,
  HealthModule,
  NatsModule,
  RedisModule,
  SweepsModule,
} from '#platform';
import { MetricsModule } from '#platform/metrics';
import { SleepWorkModule } from '#sleep';
import { StravaEventsModule, StravaModule, StravaSubscriptionModule } from '#strava';
import { accountModule } from './account.js';
import { HousekeepingModule } from './housekeeping/housekeeping.module.js';
import { processingModule } from './processing/processing.js';
import { BackfillAfterSummariesModule } from './streams/backfill-after-summaries.module.js';
import { backfillModule, streamsModule } from './streams/streams.js';
import { StravaBindingsModule } from './strava/strava-bindings.module.js';

@Module({
  imports: [
    HealthModule,
    DatabaseModule.with(
      { applicationName: 'pacekeeper-worker', poolSize: 10, statementTimeoutMs: 30_000 },
      [],
    ),
    RedisModule,
    NatsModule,
    MetricsModule,
    EdgeModule,
    AuthModule,
    SweepsModule,
    ConnectionsModule,
    ActivitiesWorkModule,
    streamsModule,
    backfillModule,
    BackfillAfterSummariesModule,
    StravaSubscriptionModule,
    StravaEventsModule.with([StravaModule, StravaBindingsModule]),
    SleepWorkModule,
    processingModule,
    accountModule,
    HousekeepingModule,
  ],
})
export class WorkerModule {}
