import { type Activity } from '../activity.js';
import { max, nearest } from '../maths.js';
import { type Plan } from '../plan.js';
import { Drifting, randomFor } from '../random.js';
import { isRide } from '../sport-model.js';
import { stepWatts } from '../totals.js';
import { capAt, type Clock } from './clock.js';
import { type Channel } from './channel.js';

/** Power jumps about; over each step it comes to what the step asks for, coasting included. */
export function wattsChannel(
  activity: Activity,
  plan: Plan,
  clock: Clock,
  coasting: Uint8Array,
  maxWatts: number,
): Channel {
  const random = randomFor(activity.seed, 'watts');
  const share = !isRide(activity.sport) ? 0.3 : activity.indoor ? 0.4 : 1;
  const road = new Drifting(random, 15, 0.12 * share);
  const stroke = new Drifting(random, 1.5, 0.14 * share);
  const values = new Int32Array(clock.samples);
  plan.steps.forEach((step, index) => {
    if (step.motion !== 'moving') return;
    const first = clock.firstOfStep[index]!;
    const last = first + step.durationS;
    const raw = new Float64Array(step.durationS);
    let sum = 0;
    for (let i = first; i < last; i++) {
      const push = max(0.1, 1 + road.next() + stroke.next());
      if (coasting[i] === 0) sum += raw[i - first] = push;
    }
    const factor = sum > 0 ? (stepWatts(activity, step) * step.durationS) / sum : 0;
    for (let i = first; i < last; i++) values[i] = nearest(raw[i - first]! * factor);
  });
  capAt(values, maxWatts, highestOf(values));
  return { values, decimals: 0 };
}

function highestOf(values: Int32Array): number {
  let highest = 0;
  for (let i = 1; i < values.length; i++) if (values[i]! > values[highest]!) highest = i;
  return highest;
}
