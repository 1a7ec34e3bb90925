export { type StreamCountByStatus, StreamCounts } from './counts/stream-counts.js';
export { type AttemptOutcome, StreamAttempts } from './fetch/stream-attempts.js';
export { FetchViews } from './lifecycle/fetch-view.js';
export { FailedFetches, type FailedFilter, type FailureGroup } from './lifecycle/failed-fetches.js';
export {
  type BackfillOwner,
  type DueFetch,
  FETCH_STATUSES,
  type FetchState,
  StreamFetches,
} from './lifecycle/stream-fetches.js';
export { StreamRecords } from './personal-records.js';
export { type Cut, cutName } from './reading/cut.js';
export { Recordings, type StoredRecording } from './reading/recordings.js';
export { Streams } from './reading/streams.js';
export { type Recording } from './recording/recording.js';
export { StreamReadersModule, StreamsModule, StreamsWorkModule } from './streams.module.js';
