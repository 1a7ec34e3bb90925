import { BullModule } from '@nestjs/bull';
import { Module } from '@nestjs/common';
import { ActivitiesModule, ActivitiesWorkModule, ImportNews } from '#activities';
import { QueueModule } from '#platform';
import { StreamsModule } from '#streams';
import { BudgetsModule } from '#vendors';
import { BackfillBatch } from './backfill-batch.js';
import { BACKFILLED, backfillTicks, queueOf } from './backfill-ticks.js';
import { BackfillForecast } from './backfill-forecast.js';
import { BackfillGauge } from './backfill-gauge.js';
import { processorOf } from './backfill-processor.js';
import { BackfillSweep } from './backfill-sweep.js';
import { Backfill, BackfillSwitch } from './backfill.js';
import { Breakers } from './breaker.js';
import { BatchLocks } from './batch-lock.js';
import { Pace } from './pace.js';

/** For the api and other libs: starts, pauses and forecasts the backfill of streams; fetches nothing. */
@Module({
  imports: [
    QueueModule,
    BullModule.registerQueue(...BACKFILLED.map((provider) => ({ name: queueOf(provider) }))),
    BudgetsModule,
    ActivitiesModule,
    StreamsModule,
  ],
  providers: [Backfill, BackfillForecast, BackfillSwitch, backfillTicks],
  exports: [Backfill, BackfillForecast, BackfillSwitch, backfillTicks, BullModule],
})
export class BackfillModule {}

/** For the worker: fetches streams. */
@Module({
  imports: [BackfillModule, ActivitiesWorkModule, BudgetsModule, StreamsModule],
  providers: [
    Breakers,
    BackfillBatch,
    BackfillGauge,
    ...BACKFILLED.map(processorOf),
    BackfillSweep,
    BatchLocks,
    Pace,
  ],
})
export class BackfillWorkModule {
  constructor(news: ImportNews, backfill: Backfill) {
    // The streams to fetch are not known earlier.
    news.register({
      summariesListed: async (owner) => {
        if (BACKFILLED.includes(owner.provider)) await backfill.begin(owner);
      },
    });
  }
}
