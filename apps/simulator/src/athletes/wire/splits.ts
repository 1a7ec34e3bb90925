import { heightAlong } from '../course.js';
import { max } from '../maths.js';
import { round } from '../rounding.js';
import { endOf, type Mark, marksAt, START } from '../timeline.js';
import { type Split } from './shapes.js';
import { type Facts } from './facts.js';

/** One for each kilometre begun. */
export function splitsFrom(facts: Facts, unitM = 1000): Split[] {
  const { plan } = facts;
  const distances = [];
  for (let metres = unitM; metres < plan.metres - 1; metres += unitM) distances.push(metres);
  let from = START;
  return [...marksAt(plan, distances), endOf(plan)].map((to, index) => {
    const split = splitBetween(facts, from, to, index + 1);
    from = to;
    return split;
  });
}

function splitBetween({ course, totals }: Facts, from: Mark, to: Mark, number: number): Split {
  const metres = to.metres - from.metres;
  const movingS = to.movingS - from.movingS;
  const speed = movingS > 0 ? round(metres / movingS, 3) : 0;
  const climb = course ? heightAlong(course, to.metres) - heightAlong(course, from.metres) : 0;
  return {
    distance: round(metres, 1),
    elapsed_time: to.elapsedS - from.elapsedS,
    elevation_difference: round(climb, 1),
    moving_time: movingS,
    split: number,
    average_speed: speed,
    average_grade_adjusted_speed: course ? round(speed * (1 + (3 * climb) / max(1, metres)), 3) : null,
    average_heartrate: totals.heartRate
      ? round(totals.heartRate.meanBetween(from.elapsedS, to.elapsedS), 3)
      : undefined,
    pace_zone: 0,
  };
}
