export { type Activity, type ActivityOverrides, type RequestedStop, withOverrides } from './activity.js';
export { SPORT_TYPES, type SportType, type StravaSport } from './sport-type.js';
export { type AthleteProfile, type Gear, createAthleteProfile } from './athlete-profile.js';
export { createHistory } from './history.js';
export { type ActivityOptions, createActivity } from './made-to-order.js';
export { STAGES, hypnogramOf, phaseString } from './hypnogram.js';
export { nightSeriesOf } from './night-series.js';
export { type Night, createNight, createNights } from './nights.js';
export { type Place } from './places.js';
export { isoSeconds } from './iso-time.js';
export { uuidFromHex } from './random.js';
export { formatOffset, momentOfLocal, offsetMinutesAt } from './time-zones.js';
export { type Profile, type SegmentKind } from './sessions.js';
export { type LatLng, type StreamKey, type Streams, STREAM_KEYS } from './stream-keys.js';
export { streamsOf } from './recording/recording.js';
export { type Truth, truthOf } from './truth.js';
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
