/** The eleven keys of Strava's streams, in the order in which Strava documents them. */
export const STREAM_KEYS = [
  'time',
  'distance',
  'latlng',
  'altitude',
  'velocity_smooth',
  'heartrate',
  'cadence',
  'watts',
  'temp',
  'moving',
  'grade_smooth',
] as const;

export type StreamKey = (typeof STREAM_KEYS)[number];

export type LatLng = readonly [latitude: number, longitude: number];

/** Index-aligned channels. A channel is absent if it was not recorded. */
export interface Streams {
  time?: number[];
  distance?: number[];
  latlng?: LatLng[];
  altitude?: number[];
  velocity_smooth?: number[];
  heartrate?: number[];
  cadence?: number[];
  watts?: number[];
  temp?: number[];
  moving?: boolean[];
  grade_smooth?: number[];
}
