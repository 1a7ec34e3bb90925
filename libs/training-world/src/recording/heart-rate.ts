import { type Activity } from '../activity.js';
import { HEART_RATE_NOISE, type HeartRateCurve } from '../heart-rate.js';
import { nearest } from '../maths.js';
import { type Plan } from '../plan.js';
import { DriftingNoise, randomFor } from '../random.js';
import { capAt, type Channel, type Clock } from './clock.js';

/** The curve plus noise. The mean of the noise is zero, so the average equals the average in the summary. */
export function heartRateChannel(
  activity: Activity,
  plan: Plan,
  clock: Clock,
  curve: HeartRateCurve,
): Channel {
  const rate = new Float64Array(clock.samples);
  rate[0] = curve.start;
  plan.steps.forEach((_, index) => curve.fill(index, rate, clock.firstOfStep[index]!));

  const flutter = flutterOf(activity, clock.samples);
  const values = new Int32Array(clock.samples);
  for (let i = 0; i < values.length; i++) values[i] = nearest(rate[i]! + flutter[i]!);
  capAt(values, curve.max, clock.time.indexOf(curve.peakAtS));
  return { values, decimals: 0 };
}

function flutterOf(activity: Activity, samples: number): Float64Array {
  const drifting = new DriftingNoise(randomFor(activity.seed, 'heart rate'), 12, HEART_RATE_NOISE);
  const flutter = new Float64Array(samples);
  let sum = 0;
  for (let i = 0; i < samples; i++) sum += flutter[i] = drifting.next();
  const mean = sum / samples;
  for (let i = 0; i < samples; i++) flutter[i] = flutter[i]! - mean;
  return flutter;
}
