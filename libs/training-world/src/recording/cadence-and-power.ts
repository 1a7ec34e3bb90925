import { type Activity } from '../activity.js';
import { max, nearest } from '../maths.js';
import { type Plan } from '../plan.js';
import { DriftingNoise, randomFor } from '../random.js';
import { cadenceAt, isRide } from '../sport-model.js';
import { stepWatts } from '../totals.js';
import { type Course, heightAlong } from '../course.js';
import { capAt, type Channel, type Clock } from './clock.js';

const DOWNHILL = -0.035;

/** Marks seconds without pedalling, downhill or at random as in bends. Only outdoor rides have them, outside of hard blocks. */
export function coastingOf(
  activity: Activity,
  plan: Plan,
  clock: Clock,
  course: Course | null,
  distance: Float64Array,
): Uint8Array {
  const coasting = new Uint8Array(clock.samples);
  if (activity.sport !== 'Ride' || activity.indoor) return coasting;
  const random = randomFor(activity.seed, 'coasting');
  plan.steps.forEach((step, index) => {
    if (step.motion !== 'moving' || step.kind === 'work') return;
    const first = clock.firstOfStep[index]!;
    let untilS = 0;
    // The rider always pedals in the first five seconds, because a step without pedalling could not reach its target power.
    for (let i = 5; i < step.durationS; i++) {
      if (i > untilS && random.chance(0.006)) untilS = i + random.int(4, 14);
      const isDownhill = course !== null && slopeOver(course, distance[first + i]!) < DOWNHILL;
      if (i < untilS || isDownhill) coasting[first + i] = 1;
    }
  });
  return coasting;
}

function slopeOver(course: Course, metres: number): number {
  return (heightAlong(course, metres + 40) - heightAlong(course, metres)) / 40;
}

/** Power with noise. The mean over a step, coasting included, is the target power of the step. */
export function wattsChannel(
  activity: Activity,
  plan: Plan,
  clock: Clock,
  coasting: Uint8Array,
  maxWatts: number,
): Channel {
  const random = randomFor(activity.seed, 'watts');
  const share = !isRide(activity.sport) ? 0.3 : activity.indoor ? 0.4 : 1;
  const road = new DriftingNoise(random, 15, 0.12 * share);
  const stroke = new DriftingNoise(random, 1.5, 0.14 * share);
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

/** The cadence follows the speed. It is 0 while the athlete stands or coasts. */
export function cadenceChannel(
  activity: Activity,
  clock: Clock,
  speed: Float64Array,
  coasting: Uint8Array,
): Channel {
  const wobble = new DriftingNoise(randomFor(activity.seed, 'cadence'), 6, isRide(activity.sport) ? 3 : 0.9);
  const values = new Int32Array(clock.samples);
  for (let i = 0; i < values.length; i++) {
    const offset = wobble.next();
    const isTurning = clock.moving[i] === 1 && coasting[i] === 0;
    values[i] = isTurning ? nearest(cadenceAt(activity.sport, speed[i]!) + offset) : 0;
  }
  return { values, decimals: 0 };
}
