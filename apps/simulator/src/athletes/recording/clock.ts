import { type Plan } from '../plan.js';

/**
 * Which seconds have a sample. A sample speaks for the second that ends at it: the first one, at 0, for none.
 * So the number of samples in motion is the moving time, and the last `time` is the elapsed time.
 */
export interface Clock {
  readonly samples: number;
  readonly time: Int32Array;
  readonly moving: Int32Array;
  /** Index of the first sample of each step; paused steps have none and start where the next one does. */
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

/** No value above the most; the sample at the peak reaches it. */
export function capAt(values: Int32Array, most: number, peakIndex: number): void {
  for (let i = 0; i < values.length; i++) if (values[i]! > most) values[i] = most;
  if (peakIndex >= 0 && peakIndex < values.length) values[peakIndex] = most;
}
