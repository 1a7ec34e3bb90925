import { type Activity } from '../activity.js';
import { hasMeasuredPower } from '../channels.js';
import { recordingOf } from '../recording/recording.js';
import { type ActivityZone } from './shapes.js';

const HEART_RATE_SHARES = [0.6, 0.7, 0.8, 0.9];
const POINTS_A_MINUTE = [0.2, 0.4, 1, 2, 3];
const POWER_BUCKET_W = 50;
const POWER_BUCKETS = 10;

/** Seconds in each zone, counted from the samples. Empty if there is neither heart rate nor measured power. */
export function zonesOf(activity: Activity): ActivityZone[] {
  const recording = recordingOf(activity, ['heartrate', 'watts']);
  const heartRate = recording?.channels.get('heartrate')?.values;
  const watts = hasMeasuredPower(activity) ? recording?.channels.get('watts')?.values : undefined;
  return [
    ...(heartRate ? [scored(zone('heartrate', heartRate, heartRateLimits(activity)))] : []),
    ...(watts ? [zone('power', watts, powerLimits())] : []),
  ];
}

function heartRateLimits(activity: Activity): number[] {
  return [0, ...HEART_RATE_SHARES.map((share) => Math.round(share * activity.athlete.maxHeartRate))];
}

/** Strava's power buckets: one for coasting, then buckets of 50 W each. */
function powerLimits(): number[] {
  return [0, ...Array.from({ length: POWER_BUCKETS }, (_, index) => 1 + index * POWER_BUCKET_W)];
}

function zone(type: 'heartrate' | 'power', values: Int32Array, limits: number[]): ActivityZone {
  const times = limits.map(() => 0);
  for (let i = 1; i < values.length; i++) times[bucketOf(values[i]!, limits)]! += 1;
  return {
    type,
    resource_state: 3,
    sensor_based: true,
    custom_zones: false,
    distribution_buckets: limits.map((min, index) => ({
      min,
      max: limits[index + 1] ?? -1,
      time: times[index]!,
    })),
  };
}

/** Adds the score. Minutes in higher zones count more. */
function scored(zone: ActivityZone): ActivityZone {
  const points = zone.distribution_buckets.reduce(
    (sum, { time }, i) => sum + (time / 60) * POINTS_A_MINUTE[i]!,
    0,
  );
  return { ...zone, score: Math.round(points), points: Math.round(points) };
}

function bucketOf(value: number, limits: number[]): number {
  let bucket = limits.length - 1;
  while (bucket > 0 && value < limits[bucket]!) bucket--;
  return bucket;
}
