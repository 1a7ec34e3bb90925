import { type DynamicModule, Module, type Provider, type Type } from '@nestjs/common';
import { ReliabilityModule } from '#reliability';
import { StreamGauges } from './counts/gauges.js';
import { StreamCounts } from './counts/stream-counts.js';
import { StreamAttempts } from './fetch/stream-attempts.js';
import { StreamEndings } from './fetch/stream-endings.js';
import { STREAM_SOURCE, type StreamSource } from './fetch/stream-source.js';
import { UploadedStreams } from './fetch/uploaded-streams.js';
import { StaleCleanup } from './lifecycle/stale-cleanup.js';
import { StreamFetches } from './lifecycle/stream-fetches.js';
import { SettledStreams } from './lifecycle/settled-streams.js';
import { StreamRecords } from './personal-records.js';
import { Bodies } from './reading/bodies.js';
import { Heads } from './reading/heads.js';
import { PromptFetch } from './reading/prompt-fetch.js';
import { PromptShare } from './reading/prompt-share.js';
import { Recordings } from './reading/recordings.js';
import { Streams } from './reading/streams.js';

const shared = [StreamFetches, StreamEndings, StreamAttempts, StreamCounts, StreamRecords];

/** `from`: the module that provides the source. */
@Module({})
export class StreamsModule {
  /** For those who read, and fetch what somebody is waiting for. */
  static reading(source: Type<StreamSource>, from: Type): DynamicModule {
    return module(source, [from, ReliabilityModule], [Bodies, Heads, PromptFetch, PromptShare, Streams]);
  }

  /** For those who fetch. */
  static working(source: Type<StreamSource>, from: Type): DynamicModule {
    return module(source, [from], [StaleCleanup, StreamGauges, UploadedStreams, SettledStreams, Recordings]);
  }
}

function module(source: Type<StreamSource>, imports: Type[], own: Type[]): DynamicModule {
  const providers: Provider[] = [...shared, ...own, { provide: STREAM_SOURCE, useExisting: source }];
  return { module: StreamsModule, imports, providers, exports: [...shared, ...own] };
}
