import { Module } from '@nestjs/common';
import { ActivitiesModule } from '#activities';
import { BackfillModule } from '#backfill';
import { OperatorActions } from '#platform';
import { PushModule } from '#push';
import { StreamsModule } from '#streams';
import { BudgetsModule } from '#vendors';
import { AthleteOverviews } from './athlete-overviews.js';
import { Attention } from './attention.js';
import { DeadLetterOrderRows, DeadLetterOrders, DeadLetterOrderWorker } from './dead-letter-orders.js';
import { DeadLetterOperations } from './dead-letter-operations.js';
import { EndpointOperations } from './endpoint-operations.js';
import { KnownEtas } from './known-etas.js';
import { Observability } from './observability.js';
import { OperatorEvents } from './operator-events.js';
import { Operations } from './operations.js';
import { Queues, queues } from './queues.js';
import { Settings } from './settings.js';
import { StreamFailures } from './stream-failures.js';
import { StreamResetOrderRows, StreamResetOrders, StreamResetOrderWorker } from './stream-reset-orders.js';

const views = [
  AthleteOverviews,
  DeadLetterOperations,
  EndpointOperations,
  Observability,
  OperatorEvents,
  Operations,
  Settings,
  StreamFailures,
];

/** For the api: operators' views and actions. */
@Module({
  imports: [ActivitiesModule, BackfillModule, BudgetsModule, PushModule, StreamsModule],
  providers: [...views, Attention, DeadLetterOrders, KnownEtas, OperatorActions, queues, StreamResetOrders],
  exports: [...views, BudgetsModule, OperatorActions, Queues],
})
export class AdminModule {}

/** For the worker: carries out operators' orders. */
@Module({
  imports: [BackfillModule, StreamsModule],
  providers: [DeadLetterOrderRows, DeadLetterOrderWorker, StreamResetOrderRows, StreamResetOrderWorker],
})
export class AdminWorkModule {}
