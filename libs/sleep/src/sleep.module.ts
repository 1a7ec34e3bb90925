import { Module } from '@nestjs/common';
import { OuraModule } from '#oura';
import { WhoopModule } from '#whoop';
import { Comparing } from './compare/comparing.js';
import { ComparisonStore } from './compare/comparison-store.js';
import { Erasures } from './erasures.js';
import { SleepIngest } from './ingest/sleep-ingest.js';
import { Fetching } from './native/fetching.js';
import { NativeLists } from './native/native-lists.js';
import { NativeNights } from './native/native-nights.js';
import { RecordFetcher } from './native/record-fetcher.js';
import { VendorInbox } from './native/vendor-inbox.js';
import { Nights } from './nights/nights.js';
import { Normalising } from './normalise/normalising.js';
import { SleepStore } from './normalise/sleep-store.js';
import { sleepRecords } from './records/sleep-records.js';
import { Untold } from './records/untold.js';

/** What clients ask for: to take a night, to show them, to hand them out and to forget them. */
@Module({
  providers: [SleepIngest, Nights, VendorInbox, ...sleepRecords],
  exports: [SleepIngest, Nights, VendorInbox, ...sleepRecords],
})
export class SleepModule {}

/** The work itself. */
@Module({
  imports: [OuraModule, WhoopModule],
  providers: [
    Normalising,
    SleepStore,
    Erasures,
    Untold,
    NativeNights,
    NativeLists,
    RecordFetcher,
    Fetching,
    ComparisonStore,
    Comparing,
  ],
})
export class SleepWorkModule {}
