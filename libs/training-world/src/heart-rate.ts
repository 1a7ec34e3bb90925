import { type Activity } from './activity.js';
import { ceil, exp, max, min, pow, round } from './maths.js';
import { type Plan, type Step } from './plan.js';
import { fractionOf } from './random.js';
import { reserveShareOf } from './sport-model.js';

/** The part of the gap to the new level that is left after one second. Time constants: 28 s rising, 50 s falling. */
const RISING = exp(-1 / 28);
const FALLING = exp(-1 / 50);
/** Deviation of the stream from the curve. `max` is the peak of the curve plus this deviation. */
export const HEART_RATE_NOISE = 1.6;
const HEADROOM = 3;

interface Stretch {
  readonly step: Step;
  readonly settlesAt: number;
  readonly decay: number;
  readonly from: number;
  /** Sum of all samples in the step, without the cardiac drift. */
  readonly sum: number;
}

/**
 * The heart rate over an activity. It follows the level of each step with a first-order lag. A steady rise over the whole
 * activity is added (cardiac drift). Means are computed by a formula without samples, and agree with the samples.
 */
export class HeartRateCurve {
  readonly average: number;
  readonly max: number;
  /** Elapsed second of the highest point. */
  readonly peakAtS: number;
  private readonly stretches: Stretch[] = [];
  private readonly risePerS: number;

  constructor(activity: Activity, plan: Plan) {
    const { athlete } = activity;
    const reserve = athlete.maxHeartRate - athlete.restingHeartRate;
    const asked = (step: Step) =>
      athlete.restingHeartRate + reserve * reserveShareOf(activity.sport, step.load);
    const rise = 2 * (driftPercentOf(activity, plan) / 100) * meanOf(plan, asked);
    const ceiling = athlete.maxHeartRate - HEADROOM - rise;
    this.risePerS = rise / plan.elapsedS;

    let level = athlete.restingHeartRate + 0.2 * reserve;
    let peak = level;
    let peakAtS = 0;
    for (const step of plan.steps) {
      const settlesAt = min(ceiling, asked(step));
      const decay = settlesAt > level ? RISING : FALLING;
      const left = pow(decay, step.durationS);
      const gap = level - settlesAt;
      const sum = settlesAt * step.durationS + (gap * decay * (1 - left)) / (1 - decay);
      this.stretches.push({ step, settlesAt, decay, from: level, sum });
      level = settlesAt + gap * left;
      const endS = step.startS + step.durationS;
      const atEnd = level + this.risePerS * endS;
      if (atEnd > peak && step.motion !== 'paused') {
        peak = atEnd;
        peakAtS = endS;
      }
    }
    this.peakAtS = peakAtS;
    this.max = min(athlete.maxHeartRate, ceil(peak + HEART_RATE_NOISE));
    this.average = this.meanBetween(0, plan.elapsedS);
  }

  /** Mean of the recorded samples after `fromS` up to and including `toS`. */
  meanBetween(fromS: number, toS: number): number {
    let sum = 0;
    let samples = 0;
    for (const stretch of this.stretches) {
      const { step } = stretch;
      if (step.motion === 'paused') continue;
      const first = max(fromS, step.startS) - step.startS + 1;
      const last = min(toS, step.startS + step.durationS) - step.startS;
      const count = last - first + 1;
      if (count <= 0) continue;
      sum += count === step.durationS ? stretch.sum : partialSum(stretch, first, count);
      sum += this.risePerS * count * (step.startS + (first + last) / 2);
      samples += count;
    }
    return samples > 0 ? sum / samples : 0;
  }

  /** Checks only the ends of steps, because the curve is assumed to be monotonic within a step. */
  highestBetween(fromS: number, toS: number): number {
    let highest = max(this.at(fromS), this.at(toS));
    for (const { step } of this.stretches) {
      if (step.startS > fromS && step.startS < toS) highest = max(highest, this.at(step.startS));
    }
    return highest;
  }

  private at(elapsedS: number): number {
    for (const { step, settlesAt, decay, from } of this.stretches) {
      if (elapsedS > step.startS + step.durationS) continue;
      const lagged = (from - settlesAt) * pow(decay, elapsedS - step.startS);
      return settlesAt + lagged + this.risePerS * elapsedS;
    }
    return this.average;
  }

  /** Fills `into` from index `at` with one value for each recorded second of the step. Returns the number of values. */
  fill(stepIndex: number, into: Float64Array, at: number): number {
    const { step, settlesAt, decay, from } = this.stretches[stepIndex] as Stretch;
    if (step.motion === 'paused') return 0;
    let gap = from - settlesAt;
    for (let i = 1; i <= step.durationS; i++) {
      gap *= decay;
      into[at + i - 1] = settlesAt + gap + this.risePerS * (step.startS + i);
    }
    return step.durationS;
  }

  get start(): number {
    return this.stretches[0]?.from ?? 0;
  }
}

/** Rise of the heart rate from the first to the second half at equal effort, in percent. It grows with time up to two hours. */
export function driftPercentOf(activity: Activity, plan: Plan): number {
  const wished = activity.wishes?.heartRateDriftPercent;
  if (wished !== undefined) return min(30, max(-10, wished));
  const hours = plan.movingS / 3600;
  const most = 1 + 3 * min(2, hours);
  return round(most * (0.3 + 0.7 * fractionOf(activity.seed, 'drift')), 1);
}

function partialSum({ settlesAt, decay, from }: Stretch, first: number, count: number): number {
  const series = (1 - pow(decay, count)) / (1 - decay);
  return settlesAt * count + (from - settlesAt) * pow(decay, first) * series;
}

function meanOf(plan: Plan, value: (step: Step) => number): number {
  let sum = 0;
  for (const step of plan.steps) sum += value(step) * step.durationS;
  return sum / plan.elapsedS;
}
