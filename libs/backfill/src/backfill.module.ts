import { BullModule } from '@nestjs/bull';
import { type DynamicModule, Module, type Provider } from '@nestjs/common';
import { ActivitiesModule } from '#activities';
import { QueueModule } from '#platform';
import { RateLimitModule } from '#rate-limit';
import { BackfillBatch } from './backfill-batch.js';
import { BACKFILL_QUEUE, BackfillBell } from './backfill-bell.js';
import { BackfillForecast } from './backfill-forecast.js';
import { BackfillGauge } from './backfill-gauge.js';
import { BackfillProcessor } from './backfill-processor.js';
import { BackfillSweep } from './backfill-sweep.js';
import { BackfillSwitch } from './backfill-switch.js';
import { Backfill } from './backfill.js';
import { Breaker } from './breaker.js';
import { BatchLocks } from './batch-lock.js';
import { Pace } from './pace.js';

const asked: Provider[] = [Backfill, BackfillBell, BackfillForecast, BackfillSwitch];
const working: Provider[] = [
  Breaker,

  BackfillBatch,
  BackfillGauge,
  BackfillProcessor,
  BackfillSweep,
  BatchLocks,
  Pace,
];

/** `streams`: the module of that library, as the app uses it. */
@Module({})
export class BackfillModule {
  /** To begin, pause and forecast it. */
  static asking(streams: DynamicModule): DynamicModule {
    return module(streams, asked);
  }

  /** To do it. */
  static working(streams: DynamicModule): DynamicModule {
    return module(streams, [...asked, ...working]);
  }
}

function module(streams: DynamicModule, providers: Provider[]): DynamicModule {
  const queue = BullModule.registerQueue({ name: BACKFILL_QUEUE });
  return {
    module: BackfillModule,
    imports: [QueueModule, queue, RateLimitModule, ActivitiesModule, streams],
    providers,
    exports: [Backfill, BackfillForecast],
  };
}
