import { Module } from '@nestjs/common';
import { Athlete, Connection, ConnectionsModule, OAuthFlow, Revocation } from '#connections';
import {
  AuthModule,
  DatabaseModule,
  EdgeModule,
  HealthModule,
  NatsModule,
  RedisModule,
  ThrottleModule,
} from '#platform';
import { MetricsModule } from '#platform/metrics';
import { AccountApiModule } from './account/account-api.module.js';
import { ActivitiesApiModule } from './activities/activities-api.module.js';
import { AddonApiModule } from './addon/addon-api.module.js';
import { AdminApiModule } from './admin/admin-api.module.js';
import { AthletesModule } from './athletes/athletes.module.js';
import { ConnectionsApiModule } from './connections/connections-api.module.js';
import { ProcessingApiModule } from './processing/processing-api.module.js';
import { StreamsApiModule } from './streams/streams-api.module.js';
import { SleepApiModule } from './sleep/sleep-api.module.js';
import { WebhooksModule } from './webhooks/webhooks.module.js';

@Module({
  imports: [
    HealthModule,
    // With a second for Redis before it, a route still answers within five.
    DatabaseModule.with({ applicationName: 'pacekeeper-api', poolSize: 10, statementTimeoutMs: 3_000 }, [
      Athlete,
      Connection,
      OAuthFlow,
      Revocation,
    ]),
    RedisModule,
    NatsModule,
    MetricsModule,
    EdgeModule,
    ConnectionsModule,
    // Global guards run in the order of these three: who are you, do you ask too often, do we have a row of you.
    AuthModule,
    ThrottleModule,
    AthletesModule,
    ConnectionsApiModule,
    ActivitiesApiModule,
    StreamsApiModule,
    ProcessingApiModule,
    SleepApiModule,
    AccountApiModule,
    WebhooksModule,
    AddonApiModule,
    AdminApiModule,
  ],
})
export class ApiModule {}
