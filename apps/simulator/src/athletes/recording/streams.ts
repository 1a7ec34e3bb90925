import { type Activity } from '../activity.js';
import { type LatLng, type StreamKey, type Streams } from '../stream-keys.js';
import { type Channel } from './channel.js';
import { recordingOf } from './recording.js';

/** Null for manual entries: they have none. */
export function streamsOf(activity: Activity, keys?: readonly StreamKey[]): Streams | null {
  const recording = recordingOf(activity, keys);
  if (!recording) return null;
  const streams: Streams = {};
  for (const [key, channel] of recording.channels) {
    if (key === 'latlng') streams.latlng = pairs(channel);
    else if (key === 'moving') streams.moving = Array.from(channel.values, (value) => value === 1);
    else streams[key] = numbers(channel);
  }
  return streams;
}

function numbers({ values, decimals }: Channel): number[] {
  const unit = 10 ** decimals;
  const out = new Array<number>(values.length);
  // Adding 0 turns the -0 of a small negative grade into 0.
  for (let i = 0; i < values.length; i++) out[i] = values[i]! / unit + 0;
  return out;
}

function pairs({ values, decimals }: Channel): LatLng[] {
  const unit = 10 ** decimals;
  const out = new Array<LatLng>(values.length / 2);
  for (let i = 0; i < out.length; i++) out[i] = [values[2 * i]! / unit, values[2 * i + 1]! / unit];
  return out;
}
