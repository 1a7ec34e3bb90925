import { ceil, max, min } from './maths.js';
import { type Track } from './track.js';
import { smoothed } from './smooth.js';

// This is short enough for a hill repetition of 45 seconds, and long enough for a barometer with steps of a metre.
const REACH_M = 30;
const STEEPEST = 0.4;

/** Slope at each cell, from the heights 30 m behind and ahead. Undefined without distance or height. */
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

// Share of speed that runners lose per unit of slope on rolling ground. At 3 the metabolic cost is even; at 1 they push uphill.
const USUAL = 2;
const MOST = 4;
// Slope and speed are compared with their means nearby. Otherwise a faster second half on the way downhill looks like slope.
const NEARBY_S = 240;
/** `USUAL` counts as much as ten minutes on hills of 3 %. */
const PRIOR_WEIGHT = 600 * 0.03 ** 2;

/**
 * Share of speed that this athlete lost per unit of slope in this session. With it, hills do not look like changes of effort.
 * Never negative, because a runner who is faster uphill than downhill does so on purpose.
 */
export function slopeResponse(track: Track, grade: Float64Array, usualSpeed: number): number {
  const { speed, isStill, cells, cellS } = track;
  if (!speed || usualSpeed <= 0) return 0;
  const moving = <T>(value: T, cell: number) => (isStill[cell] ? NaN : value);
  const slopes = grade.map(moving);
  const speeds = speed.map(moving);
  const radius = ceil(NEARBY_S / cellS);
  const slopeNearby = smoothed(slopes, radius);
  const speedNearby = smoothed(speeds, radius);
  let varies = 0;
  let together = 0;
  for (let cell = 0; cell < cells; cell++) {
    if (isStill[cell]) continue;
    const slope = slopes[cell]! - slopeNearby[cell]!;
    varies += cellS * slope * slope;
    together += (cellS * slope * (speeds[cell]! - speedNearby[cell]!)) / usualSpeed;
  }
  return min(MOST, max(0, (USUAL * PRIOR_WEIGHT - together) / (varies + PRIOR_WEIGHT)));
}
