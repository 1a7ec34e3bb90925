import { Module } from '@nestjs/common';
import { AccountWorkModule } from '#account';
import { ActivitiesWorkModule } from '#activities';
import { AdminWorkModule } from '#admin';
import { BackfillWorkModule } from '#backfill';
import { ConnectionsModule } from '#connections';
import {
  AuthModule,
  DatabaseModule,
  EdgeModule,
  HealthModule,
  NatsModule,
  RedisModule,
  SweepsModule,
  VersionModule,
  WorkModule,
} from '#platform';
import { MetricsModule } from '#platform/metrics';
import { ProcessingWorkModule } from '#processing';
import { PushWorkModule } from '#push';
import { RunShapeModule } from '#run-shape';
import { SleepWorkModule } from '#sleep';
import { StreamsWorkModule } from '#streams';
import { WebhooksWorkModule } from '#webhooks';
import { WriteBackWorkModule } from '#write-back';
import { DeletedRecordsModule } from './deleted-records.module.js';
import { HousekeepingModule } from './housekeeping.js';
import { StreamsAfterUploadModule } from './streams-after-upload.module.js';

/** The worker: servers, features with their background work, sweeps. It serves health and metrics only. */
@Module({
  imports: [
    HealthModule,
    VersionModule,
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
    WorkModule,
    ConnectionsModule,
    WebhooksWorkModule,
    ActivitiesWorkModule,
    StreamsWorkModule,
    StreamsAfterUploadModule,
    BackfillWorkModule,
    SleepWorkModule,
    ProcessingWorkModule,
    // Processes activities. Your own processor takes its place: docs/how-to-add-a-processor.md.
    RunShapeModule,
    WriteBackWorkModule,
    PushWorkModule,
    AccountWorkModule,
    DeletedRecordsModule,
    AdminWorkModule,
    HousekeepingModule,
  ],
})
export class WorkerModule {}
