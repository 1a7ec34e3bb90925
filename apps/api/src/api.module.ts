import { Module } from '@nestjs/common';
import { Athlete } from '#connections';
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
import { AthletesModule } from './athletes/athletes.module.js';

@Module({
  imports: [
    HealthModule,
    // With a second for Redis before it, a route still answers within five.
    DatabaseModule.with({ applicationName: 'pacekeeper-api', poolSize: 10, statementTimeoutMs: 3_000 }, [
      Athlete,
    ]),
    RedisModule,
    NatsModule,
    MetricsModule,
    EdgeModule,
    // Global guards run in the order of these three: who are you, do you ask too often, do we have a row of you.
    AuthModule,
    ThrottleModule,
    AthletesModule,
  ],
})
export class ApiModule {}
