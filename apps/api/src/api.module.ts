import { Module } from '@nestjs/common';
import { AccountModule } from '#account';
import { ActivitiesModule } from '#activities';
import { AdminModule } from '#admin';
import { BackfillModule } from '#backfill';
import {
  Athlete,
  Connection,
  ConnectionListeners,
  ConnectionsModule,
  OAuthFlow,
  Revocation,
  ServiceKeyRow,
  SessionRow,
  SignInCodeRow,
  VendorRow,
} from '#connections';
import {
  AuthModule,
  DatabaseModule,
  EdgeModule,
  HealthModule,
  NatsModule,
  RedisModule,
  ThrottleModule,
  VersionModule,
} from '#platform';
import { MetricsModule } from '#platform/metrics';
import { PlaybackModule } from '#playback';
import { ProcessingModule } from '#processing';
import { PushModule } from '#push';
import { SleepModule } from '#sleep';
import { StreamReadersModule, StreamsModule } from '#streams';
import { VendorsModule } from '#vendors';
import { WebhooksModule } from '#webhooks';
import { WriteBackModule } from '#write-back';
import { AccountController } from './account/account.controller.js';
import { ExportedRecordsModule } from './account/exported-records.module.js';
import { ActivitiesController } from './activities/activities.controller.js';
import { ImportOnConnect } from './activities/import-on-connect.js';
import { ImportsController } from './activities/imports.controller.js';
import { AddonController } from './addon/addon.controller.js';
import { ClipsController } from './addon/clips.controller.js';
import { AdminActivityController } from './admin/activity.controller.js';
import { AdminController } from './admin/admin.controller.js';
import { AdminAthletesController } from './admin/athletes.controller.js';
import { AuditController } from './admin/audit.controller.js';
import { AdminEventsController } from './admin/events.controller.js';
import { QueuesController } from './admin/queues.controller.js';
import { SettingsController } from './admin/settings.controller.js';
import { TrafficController } from './admin/traffic.controller.js';
import { DlqController } from './admin/dlq.controller.js';
import { AdminEndpointsController } from './admin/endpoints.controller.js';
import { FailuresController } from './admin/failures.controller.js';
import { GateController } from './admin/gate.controller.js';
import { HistoryController } from './admin/history.controller.js';
import { KeysController } from './admin/keys.controller.js';
import { JobsController } from './admin/jobs.controller.js';
import { WebhookEventsController } from './admin/webhook-events.controller.js';
import { ChangesController } from './apps/changes.controller.js';
import { AthletesController } from './athletes/athletes.controller.js';
import { KnownAthletesModule } from './athletes/known-athlete.guard.js';
import { MeController } from './athletes/me.controller.js';
import { WebhookEndpointsController } from './apps/webhook-endpoints.controller.js';
import { CallbackController } from './connections/callback.controller.js';
import { ConnectionsController } from './connections/connections.controller.js';
import { BUILT_CONSOLE, CONSOLE_FOLDER, ConsoleController } from './console/console.controller.js';
import { ProcessingController } from './processing/processing.controller.js';
import { RootController } from './root.controller.js';
import { SessionController } from './session/session.controller.js';
import { SleepIngestController } from './sleep/sleep-ingest.controller.js';
import { SleepController } from './sleep/sleep.controller.js';
import { StreamsController } from './streams/streams.controller.js';
import { WebhookController } from './webhooks/webhook.controller.js';

/** The api: servers, global guards, features, routes. */
@Module({
  imports: [
    HealthModule,
    VersionModule,
    // A route must name the frozen server before the edge answers for it after 4.25 s: 1 s for Redis, then at most 3.1 s for a statement.
    DatabaseModule.with({ applicationName: 'pacekeeper-api', poolSize: 10, statementTimeoutMs: 2_800 }, [
      Athlete,
      Connection,
      OAuthFlow,
      Revocation,
      ServiceKeyRow,
      SessionRow,
      SignInCodeRow,
      VendorRow,
    ]),
    RedisModule,
    NatsModule,
    MetricsModule,
    EdgeModule,
    ConnectionsModule,
    VendorsModule,
    // Global guards run in the order of these three: authentication, throttle, the athlete's row.
    AuthModule,
    ThrottleModule,
    KnownAthletesModule,
    ActivitiesModule,
    WebhooksModule,
    StreamsModule,
    StreamReadersModule,
    BackfillModule,
    ProcessingModule,
    WriteBackModule,
    SleepModule,
    AccountModule,
    ExportedRecordsModule,
    PlaybackModule,
    PushModule,
    AdminModule,
  ],
  controllers: [
    RootController,
    ConsoleController,
    SessionController,
    MeController,
    AthletesController,
    ConnectionsController,
    CallbackController,
    ActivitiesController,
    ImportsController,
    StreamsController,
    ProcessingController,
    SleepIngestController,
    SleepController,
    AccountController,
    ChangesController,
    WebhookController,
    WebhookEndpointsController,
    // The add-on's own route takes every path below /addon, so the clips come first.
    ClipsController,
    AddonController,
    AdminActivityController,
    AdminEndpointsController,
    AdminController,
    AdminAthletesController,
    AdminEventsController,
    AuditController,
    QueuesController,
    SettingsController,
    TrafficController,
    DlqController,
    FailuresController,
    GateController,
    HistoryController,
    JobsController,
    KeysController,
    WebhookEventsController,
  ],
  providers: [ImportOnConnect, { provide: CONSOLE_FOLDER, useValue: BUILT_CONSOLE }],
})
export class ApiModule {
  constructor(listeners: ConnectionListeners, importOnConnect: ImportOnConnect) {
    listeners.register(importOnConnect);
  }
}
