import { type Activity } from '../activity.js';
import { hasChannel } from '../channels.js';
import { courseOf } from '../course.js';
import { type Plan, planOf } from '../plan.js';
import { type LatLng, STREAM_KEYS, type StreamKey, type Streams } from '../stream-keys.js';
import { type Totals, totalsOf } from '../totals.js';
import { nearest } from '../maths.js';
import { cadenceChannel, coastingOf, wattsChannel } from './cadence-and-power.js';
import { type Channel, type Clock, clockOf } from './clock.js';
import { heartRateChannel } from './heart-rate.js';
import { altitudeChannel, gradeChannel, positionChannel } from './position.js';
import { distanceChannel, metresPerSecond, velocityChannel } from './speed.js';

interface Recording {
  readonly samples: number;
  readonly channels: ReadonlyMap<StreamKey, Channel>;
}

/** The recorded channels, in the order of Strava's keys. Null for a manual entry. */
export function recordingOf(activity: Activity, keys: readonly StreamKey[] = STREAM_KEYS): Recording | null {
  if (activity.manual) return null;
  const plan = planOf(activity);
  const clock = clockOf(plan);
  const wanted = STREAM_KEYS.filter((key) => keys.includes(key) && hasChannel(activity, key));
  return { samples: clock.samples, channels: channelsOf(activity, plan, clock, wanted) };
}

function channelsOf(
  activity: Activity,
  plan: Plan,
  clock: Clock,
  keys: readonly StreamKey[],
): Map<StreamKey, Channel> {
  const totals = totalsOf(activity, plan);
  const course = courseOf(activity, plan, 'fine');
  const speed = metresPerSecond(activity, plan, clock, course);
  const distance = cumulative(speed);
  const coasting = coastingOf(activity, plan, clock, course, distance);

  const record = (key: StreamKey): Channel | null => {
    switch (key) {
      case 'time':
        return { values: clock.time, decimals: 0 };
      case 'distance':
        return distanceChannel(distance, totals.metres);
      case 'latlng':
        return course && positionChannel(activity, course, distance);
      case 'altitude':
        return course && altitudeChannel(course, distance);
      case 'velocity_smooth':
        return velocityChannel(plan, clock, speed, totals.maxSpeed);
      case 'heartrate':
        return totals.heartRate && heartRateChannel(activity, plan, clock, totals.heartRate);
      case 'cadence':
        return cadenceChannel(activity, clock, speed, coasting);
      case 'watts':
        return wattsChannel(activity, plan, clock, coasting, maxWatts(totals));
      case 'temp':
        return temperatureChannel(clock, totals.averageTempC ?? 0);
      case 'moving':
        return { values: clock.moving, decimals: 0 };
      case 'grade_smooth':
        return course && gradeChannel(course, distance);
    }
  };

  const channels = new Map<StreamKey, Channel>();
  for (const key of keys) {
    const channel = record(key);
    if (channel) channels.set(key, channel);
  }
  return channels;
}

function maxWatts(totals: Totals): number {
  return totals.maxWatts ?? Number.MAX_SAFE_INTEGER;
}

function cumulative(speed: Float64Array): Float64Array {
  const sum = new Float64Array(speed.length);
  for (let i = 1; i < speed.length; i++) sum[i] = sum[i - 1]! + speed[i]!;
  return sum;
}

/** The temperature falls by two degrees, like the reading of a sensor that comes out of a warm house. */
function temperatureChannel(clock: Clock, averageC: number): Channel {
  const values = new Int32Array(clock.samples);
  for (let i = 0; i < values.length; i++) values[i] = nearest(averageC + 1 - (2 * i) / values.length);
  return { values, decimals: 0 };
}

/** The recording as arrays of numbers. Null for manual entries. */
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
