import 'reflect-metadata';
import { Module } from '@nestjs/common';
import { ConnectionsModule } from '#connections';
import { JobsModule } from '#jobs';
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
import { StairsModule, StairsProcessor } from './stairs.js';

// A worker that does nothing else: the platform, and the runtime with a processor bound to it.
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
    JobsModule.working(StairsProcessor, StairsModule),
  ],
})
class StairsWorker {}

await run({ name: 'worker', module: StairsWorker, port: (config) => config.http.workerPort });
