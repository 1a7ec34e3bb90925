import 'reflect-metadata';
import { Module } from '@nestjs/common';
import { ConnectionsModule } from '#connections';
import { ProcessingWorkModule } from '#processing';
import {
  AuthModule,
  DatabaseModule,
  EdgeModule,
  HealthModule,
  NatsModule,
  RedisModule,
  run,
  SweepsModule,
} from '#platform';
import { MetricsModule } from '#platform/metrics';
import { loadProductConfig } from '#vendors';
import { StairsModule } from './stairs.js';

// A worker with one task: the platform, and the job runtime with this processor.
@Module({
  imports: [
    HealthModule,
    DatabaseModule.with({ applicationName: 'stairs', poolSize: 5, statementTimeoutMs: 30_000 }, []),
    RedisModule,
    NatsModule,
    MetricsModule,
    EdgeModule,
    AuthModule,
    SweepsModule,
    ConnectionsModule,
    ProcessingWorkModule,
    StairsModule,
  ],
})
class StairsWorker {}

await run(loadProductConfig, {
  name: 'worker',
  module: StairsWorker,
  port: (config) => config.http.workerPort,
});
