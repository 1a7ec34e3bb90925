import { Module } from '@nestjs/common';
import { ChangeNewsModule } from './change-news.js';
import { ChangeRecords } from './deletion/change-records.js';
import { ChangeRemains } from './deletion/change-remains.js';
import { DeliveriesModule, DeliveriesWorkModule } from './deliveries/deliveries.module.js';
import { ChangeFeed } from './feed/change-feed.js';
import { ChangeTail } from './feed/change-tail.js';
import { EventStreams } from './feed/event-streams.js';
import { LongPoll } from './feed/long-poll.js';
import { ChangeRelay } from './relay/change-relay.js';
import { ChangeRetention } from './relay/change-retention.js';
import { RelayGauges } from './relay/relay-metrics.js';
import { RelayStore } from './relay/relay-store.js';
import { Sequencer } from './relay/sequencer.js';

/** For the api: reads changes, keeps webhook endpoints. */
@Module({
  imports: [ChangeNewsModule, DeliveriesModule],
  providers: [ChangeFeed, ChangeTail, EventStreams, LongPoll],
  exports: [ChangeFeed, ChangeTail, DeliveriesModule, EventStreams, LongPoll],
})
export class PushModule {}

/** For the worker: sends changes on. */
@Module({
  imports: [ChangeNewsModule, DeliveriesWorkModule],
  providers: [ChangeRecords, ChangeRelay, ChangeRemains, ChangeRetention, RelayGauges, RelayStore, Sequencer],
  exports: [ChangeRecords, ChangeRemains],
})
export class PushWorkModule {}
