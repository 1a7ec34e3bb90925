export {
  type Activity,
  type ActivityOverrides,
  type ActivityWishes,
  type WishedStop,
  withOverrides,
} from './activity.js';
export { type SportType } from './sport-type.js';
export {
  type AthleteProfile,
  type AthleteProfileOptions,
  type Gear,
  createAthleteProfile,
} from './athlete-profile.js';
export { type HistoryOptions, createHistory } from './history.js';
export { type ActivityOptions, createActivity } from './made-to-order.js';
export { STAGES, hypnogramOf, phaseString } from './hypnogram.js';
export { type NightSeries, nightSeriesOf } from './night-series.js';
export { type Night, type NightOptions, type NightsOptions, createNight, createNights } from './nights.js';
export { type Place } from './places.js';
export { type Profile, type SegmentKind } from './sessions.js';
export { type LatLng, type StreamKey, type Streams, STREAM_KEYS } from './stream-keys.js';
export { streamsOf } from './recording/streams.js';
export { type Shape, type Truth, type TruthSegment, type TruthStop, truthOf } from './truth.js';
export { detailOf } from './wire/detail.js';
export { lapsOf } from './wire/laps.js';
export { photosOf } from './wire/photos.js';
export {
  type ActivityZone,
  type DetailedActivity,
  type Lap,
  type Photo,
  type SummaryActivity,
} from './wire/shapes.js';
export { streamsJson } from './wire/streams-json.js';
export { summaryOf } from './wire/summary.js';
export { detailJson, summaryJson, wireJson } from './wire/wire-json.js';
export { zonesOf } from './wire/zones.js';
