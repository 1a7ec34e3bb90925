import { Module } from '@nestjs/common';
import { AuthModule, DatabaseModule, EdgeModule, HealthModule, NatsModule, RedisModule } from '#platform';
import { MetricsModule } from '#platform/metrics';

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
  ],
})
export class WorkerModule {}
