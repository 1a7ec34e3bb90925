import { type Activity } from '../activity.js';
import { hasChannel } from '../channels.js';
import { courseOf } from '../course.js';
import { type Plan, planOf } from '../plan.js';
import { STREAM_KEYS, type StreamKey } from '../stream-keys.js';
import { type Totals, totalsOf } from '../totals.js';
import { cadenceChannel } from './cadence.js';
import { type Channel } from './channel.js';
import { type Clock, clockOf } from './clock.js';
import { coastingOf } from './coasting.js';
import { heartRateChannel } from './heart-rate.js';
import { altitudeChannel, gradeChannel, positionChannel } from './position.js';
import { distanceChannel, metresPerSecond, velocityChannel } from './speed.js';
import { temperatureChannel } from './temperature.js';
import { wattsChannel } from './watts.js';

export interface Recording {
  readonly samples: number;
  readonly channels: ReadonlyMap<StreamKey, Channel>;
}

/** What the watch wrote down, in the order of Strava's keys. Null for manual entries. */
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
