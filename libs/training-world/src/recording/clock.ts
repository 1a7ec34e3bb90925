import { type Plan } from '../plan.js';

/**
 * A channel as whole numbers; a sample is `values[i] / 10 ** decimals`. So values are rounded only once, and writing JSON needs
 * no floating point. `latlng` has two values a sample. The values of `moving` are 0 and 1.
 */
export interface Channel {
  readonly values: Int32Array;
  readonly decimals: number;
}

/**
 * The seconds that have a sample. A sample stands for the second before it. The first sample, at 0, stands for no second. So
 * the number of samples in motion is the moving time, and the last `time` is the elapsed time.
 */
export interface Clock {
  readonly samples: number;
  readonly time: Int32Array;
  readonly moving: Int32Array;
  /** Index of the first sample of each step. A paused step has no samples; its index is the first sample of the next step. */
  readonly firstOfStep: Int32Array;
}

export function clockOf(plan: Plan): Clock {
  const samples = plan.elapsedS - plan.pausedS + 1;
  const time = new Int32Array(samples);
  const moving = new Int32Array(samples);
  const firstOfStep = new Int32Array(plan.steps.length);
  let at = 1;
  plan.steps.forEach((step, index) => {
    firstOfStep[index] = at;
    if (step.motion === 'paused') return;
    const isMoving = step.motion === 'moving' ? 1 : 0;
    for (let second = 1; second <= step.durationS; second++, at++) {
      time[at] = step.startS + second;
      moving[at] = isMoving;
    }
  });
  return { samples, time, moving, firstOfStep };
}

/** The sample in the middle of a step. */
export function middleOf(clock: Clock, plan: Plan, stepIndex: number): number {
  return clock.firstOfStep[stepIndex]! + (plan.steps[stepIndex]!.durationS >> 1);
}

/** Limits all values to `most`, and sets the sample at `peakIndex` to exactly `most`. */
export function capAt(values: Int32Array, most: number, peakIndex: number): void {
  for (let i = 0; i < values.length; i++) if (values[i]! > most) values[i] = most;
  if (peakIndex >= 0 && peakIndex < values.length) values[peakIndex] = most;
}
