import { type Activity } from '../activity.js';
import { type Course, heightAlong } from '../course.js';
import { type Plan } from '../plan.js';
import { randomFor } from '../random.js';
import { type Clock } from './clock.js';

const DOWNHILL = -0.035;

/** Seconds without pedalling: downhill, into bends, behind others. Only outdoors, and never in an effort. */
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
    // The first seconds are pedalled: a step in which nobody pedals could not reach its power.
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
