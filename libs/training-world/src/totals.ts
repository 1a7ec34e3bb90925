import { type Activity } from './activity.js';
import { hasChannel } from './channels.js';
import { HeartRateCurve } from './heart-rate.js';
import { max, nearest, round, sqrt } from './maths.js';
import { seasonalC } from './places.js';
import { type Plan, type Step } from './plan.js';
import { fractionOf } from './random.js';
import { cadenceAt, isRide, isRun, runWatts } from './sport-model.js';

/**
 * The totals of an activity, computed from the plan. The recording is fitted to these totals, so that a page of summaries
 * needs no streams.
 */
export interface Totals {
  readonly metres: number;
  readonly averageSpeed: number;
  readonly maxSpeed: number;
  readonly heartRate: HeartRateCurve | null;
  readonly averageCadence: number | null;
  /** Measured power. For a ride without the `watts` channel the power is estimated. */
  readonly averageWatts: number | null;
  readonly weightedWatts: number | null;
  readonly maxWatts: number | null;
  readonly averageTempC: number | null;
}

export function totalsOf(activity: Activity, plan: Plan): Totals {
  const has = (key: Parameters<typeof hasChannel>[1]) => hasChannel(activity, key);
  const hasPower = !activity.manual && (isRide(activity.sport) || has('watts'));
  return {
    metres: round(plan.metres, 1),
    averageSpeed: plan.movingS > 0 ? plan.metres / plan.movingS : 0,
    maxSpeed: maxSpeedOf(activity, plan),
    heartRate: has('heartrate') ? new HeartRateCurve(activity, plan) : null,
    averageCadence: has('cadence') ? movingMean(plan, (step) => cadenceAt(activity.sport, step.speed)) : null,
    averageWatts: hasPower ? movingMean(plan, (step) => stepWatts(activity, step)) : null,
    weightedWatts: has('watts') ? weightedWatts(activity, plan) : null,
    maxWatts: has('watts') ? maxWattsOf(activity, plan) : null,
    averageTempC: has('temp') ? temperatureOf(activity) : null,
  };
}

export function stepWatts(activity: Activity, step: Step): number {
  return step.watts ?? runWatts(activity.athlete, step.speed);
}

/** The fastest step. The speed has its maximum in the middle of this step. */
export function fastestStep(plan: Plan): Step | undefined {
  let fastest: Step | undefined;
  for (const step of plan.steps) if (!fastest || step.speed > fastest.speed) fastest = step;
  return fastest;
}

function movingMean(plan: { steps: readonly Step[] }, value: (step: Step) => number): number {
  let sum = 0;
  let seconds = 0;
  for (const step of plan.steps) {
    if (step.motion !== 'moving') continue;
    sum += value(step) * step.durationS;
    seconds += step.durationS;
  }
  return seconds > 0 ? sum / seconds : 0;
}

function maxSpeedOf(activity: Activity, plan: Plan): number {
  if (activity.manual) return 0;
  const fastest = fastestStep(plan)?.speed ?? 0;
  return round(fastest * peakRatio(activity), 3);
}

function peakRatio(activity: Activity): number {
  if (activity.indoor) return 1.05;
  if (isRun(activity.sport)) return 1.12;
  return isRide(activity.sport) ? 1.5 : 1.25;
}

function maxWattsOf(activity: Activity, plan: Plan): number {
  let highest = 0;
  for (const step of plan.steps) highest = max(highest, stepWatts(activity, step));
  return nearest(highest * (isRide(activity.sport) ? 1.8 : 1.25));
}

function weightedWatts(activity: Activity, plan: Plan): number {
  const mean = movingMean(plan, (step) => stepWatts(activity, step) ** 4);
  // Watts vary within a step, and the exponent 4 gives the peaks more weight. This adds 3 %.
  return nearest(1.03 * sqrt(sqrt(mean)));
}

function temperatureOf(activity: Activity): number {
  const weather = 10 * (fractionOf(activity.seed, 'weather') - 0.5);
  return nearest(seasonalC(activity.place, activity.startMs) + weather);
}
