import { max, min } from './maths.js';
import { type Track } from './track.js';

// Short enough for a hill repetition of 45 seconds, long enough for a barometer that counts in steps of a metre.
const REACH_M = 30;
const STEEPEST = 0.4;

/** Slope under each cell, from the heights a little behind and ahead. */
export function gradeOf({ cells, metres, altitude }: Track): Float64Array | undefined {
  if (!metres || !altitude) return undefined;
  const grade = new Float64Array(cells);
  let behind = 0;
  let ahead = 0;
  for (let cell = 0; cell < cells; cell++) {
    while (metres[behind]! < metres[cell]! - REACH_M) behind++;
    while (ahead < cells - 1 && metres[ahead]! < metres[cell]! + REACH_M) ahead++;
    const length = metres[ahead]! - metres[behind]!;
    const slope = length > REACH_M / 2 ? (altitude[ahead]! - altitude[behind]!) / length : 0;
    grade[cell] = Number.isNaN(slope) ? 0 : min(STEEPEST, max(-STEEPEST, slope));
  }
  return grade;
}
