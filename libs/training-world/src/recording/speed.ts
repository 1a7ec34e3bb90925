import { type Activity } from '../activity.js';
import { type Course, heightAlong } from '../course.js';
import { max, min, nearest } from '../maths.js';
import { type Plan, type Step } from '../plan.js';
import { DriftingNoise, type Random, randomFor } from '../random.js';
import { isRide } from '../sport-model.js';
import { fastestStep } from '../totals.js';
import { capAt, type Channel, type Clock, middleOf } from './clock.js';

/** Metres covered in the second before each sample. Each step covers exactly the planned distance. */
export function metresPerSecond(
  activity: Activity,
  plan: Plan,
  clock: Clock,
  course: Course | null,
): Float64Array {
  const speed = new Float64Array(clock.samples);
  const random = randomFor(activity.seed, 'speed');
  const pace = paceNoise(activity, random);
  const yieldsToHills = isRide(activity.sport) ? 5 : 1.5;
  const reactionS = isRide(activity.sport) ? 6 : 2.5;
  let current = 0;
  let metres = 0;

  plan.steps.forEach((step, index) => {
    if (step.motion !== 'moving') {
      current = 0;
      return;
    }
    const first = clock.firstOfStep[index]!;
    let covered = 0;
    for (let i = 0; i < step.durationS; i++) {
      current += (step.speed - current) / reactionS;
      const here = metres + step.speed * i;
      const slope = course && step.kind !== 'climb' ? slopeAt(course, here, step.speed) : 0;
      const second = current * pace() * hillFactor(slope * yieldsToHills);
      speed[first + i] = second;
      covered += second;
    }
    rescale(speed, first, step, covered);
    metres += step.metres;
  });
  return speed;
}

export function distanceChannel(distance: Float64Array, total: number): Channel {
  const values = new Int32Array(distance.length);
  for (let i = 0; i < values.length; i++) values[i] = nearest(distance[i]! * 10);
  // After thousands of additions the sum may differ from the total by a rounding error.
  values[values.length - 1] = nearest(total * 10);
  return { values, decimals: 1 };
}

export function velocityChannel(plan: Plan, clock: Clock, speed: Float64Array, maxSpeed: number): Channel {
  const values = new Int32Array(speed.length);
  for (let i = 0; i < values.length; i++) values[i] = nearest(speed[i]! * 1000);
  const fastest = fastestStep(plan);
  const peak = fastest ? middleOf(clock, plan, plan.steps.indexOf(fastest)) : -1;
  capAt(values, nearest(maxSpeed * 1000), peak);
  return { values, decimals: 3 };
}

/** Slow variation of the pace plus sensor noise. Indoors each is a quarter of its outdoor size. */
function paceNoise(activity: Activity, random: Random): () => number {
  const share = activity.indoor ? 0.25 : 1;
  const mood = new DriftingNoise(random, 25, 0.022 * share);
  const jitter = new DriftingNoise(random, 3, 0.018 * share);
  return () => 1 + mood.next() + jitter.next();
}

function slopeAt(course: Course, metres: number, speed: number): number {
  const ahead = max(10, 3 * speed);
  return (heightAlong(course, metres + ahead) - heightAlong(course, metres)) / ahead;
}

function hillFactor(slope: number): number {
  return min(1.3, max(0.7, 1 - slope));
}

function rescale(speed: Float64Array, first: number, step: Step, covered: number): void {
  if (covered <= 0) return;
  const factor = step.metres / covered;
  for (let i = first; i < first + step.durationS; i++) speed[i] = speed[i]! * factor;
}
