import { ceil, max, min } from './maths.js';
import { smoothed } from './smooth.js';
import { type Track } from './track.js';

// What runners on rolling ground lose per unit of slope: between the 3 that would keep the metabolic cost even and
// the 1 of those who push uphill.
const USUAL = 2;
const MOST = 4;
// Compared with what is nearby, so that a run that gets faster on its way home is not explained by its way home.
const NEARBY_S = 240;
/** As much evidence as ten minutes on hills of 3 % would give. */
const PRIOR_WEIGHT = 600 * 0.03 ** 2;

/**
 * How much slower this athlete got on this day per unit of slope, so that hills are not taken for changes of effort.
 * Never negative: who is faster uphill than down does it on purpose.
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
