import { Module } from '@nestjs/common';
import { ProcessingBindings } from '#processing';
import { ReliabilityModule } from '#reliability';
import { BudgetsModule, VendorsModule } from '#vendors';
import { StreamGauges } from './counts/gauges.js';
import { StreamCounts } from './counts/stream-counts.js';
import { StreamAttempts } from './fetch/stream-attempts.js';
import { FetchOutcomes } from './fetch/fetch-outcomes.js';
import { FailedFetches } from './lifecycle/failed-fetches.js';
import { FetchViews } from './lifecycle/fetch-view.js';
import { StaleCleanup } from './lifecycle/stale-cleanup.js';
import { StreamFetches } from './lifecycle/stream-fetches.js';
import { SettledStreams } from './lifecycle/settled-streams.js';
import { StreamRecords } from './personal-records.js';
import { Bodies } from './reading/bodies.js';
import { Heads } from './reading/heads.js';
import { Cutter } from './reading/cutter.js';
import { PromptFetch } from './reading/prompt-fetch.js';
import { PromptLimiter } from './reading/prompt-limiter.js';
import { Recordings } from './reading/recordings.js';
import { Streams } from './reading/streams.js';

const stored = [
  FailedFetches,
  FetchOutcomes,
  FetchViews,
  Recordings,
  StreamAttempts,
  StreamCounts,
  StreamFetches,
  StreamRecords,
];

/** For both apps and other libs: the stored streams, and one attempt to fetch a stream. */
@Module({ imports: [BudgetsModule, VendorsModule], providers: stored, exports: stored })
export class StreamsModule {}

/**
 * For the api: serves readers, and fetches a stream while its reader waits. Not a part of StreamsModule, since a worker needs neither the
 * coalescer's Redis connections nor the session gate's metrics.
 */
@Module({
  imports: [StreamsModule, ReliabilityModule],
  providers: [Bodies, Cutter, Heads, PromptFetch, PromptLimiter, Streams],
  exports: [Streams],
})
export class StreamReadersModule {}

/** For the worker: cleans up, counts, and finds the activities that can be processed. */
@Module({
  imports: [StreamsModule],
  providers: [SettledStreams, StaleCleanup, StreamGauges],
})
export class StreamsWorkModule {
  constructor(bindings: ProcessingBindings, settled: SettledStreams) {
    bindings.newActivities.register(settled);
  }
}
