import { nearest } from './maths.js';
import { type Plan } from './plan.js';

/** A moment of the plan, found by distance. */
export interface Mark {
  readonly metres: number;
  readonly elapsedS: number;
  readonly movingS: number;
  /** Index of the sample at this moment. */
  readonly index: number;
}

export const START: Mark = { metres: 0, elapsedS: 0, movingS: 0, index: 0 };

/** The moments at which the athlete reaches the given distances. The distances must ascend. */
export function marksAt(plan: Plan, distances: readonly number[]): Mark[] {
  const marks: Mark[] = [];
  let metres = 0;
  let movingS = 0;
  let pausedS = 0;
  for (const step of plan.steps) {
    while (marks.length < distances.length && distances[marks.length]! <= metres + step.metres) {
      const distance = distances[marks.length]!;
      const within = step.metres > 0 ? nearest(((distance - metres) / step.metres) * step.durationS) : 0;
      const elapsedS = step.startS + within;
      marks.push({ metres: distance, elapsedS, movingS: movingS + within, index: elapsedS - pausedS });
    }
    metres += step.metres;
    if (step.motion === 'moving') movingS += step.durationS;
    if (step.motion === 'paused') pausedS += step.durationS;
  }
  return marks;
}

export function endOf(plan: Plan): Mark {
  const { metres, elapsedS, movingS, pausedS } = plan;
  return { metres, elapsedS, movingS, index: elapsedS - pausedS };
}
