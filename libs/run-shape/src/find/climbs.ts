import { max, rounded } from '../signal/maths.js';
import { type Track } from '../signal/track.js';
import { type ClimbPart } from '../run-shape.js';

/** From a low point to the next high point, in cells. */
export interface Climb {
  readonly from: number;
  readonly to: number;
  readonly gainM: number;
  readonly lengthM: number;
}

// A descent of at most 3 m, or of at most a fifth of the gain, is part of the climb.
const SMALLEST_DROP_M = 3;
const DROP_SHARE = 0.2;
const SMALLEST_GAIN_M = 5;
// A steeper climb is a lift, a ladder or an error of the barometer.
const STEEPEST = 0.6;

/** All climbs of 5 m and more, at any effort. */
export function climbsOf({ altitude, metres, cells }: Track): Climb[] {
  if (!altitude || !metres) return [];
  const climbs: Climb[] = [];
  let low = firstKnown(altitude);
  let high = low;
  if (low < 0) return [];
  const close = () => {
    const gainM = altitude[high]! - altitude[low]!;
    const lengthM = metres[high]! - metres[low]!;
    if (gainM >= SMALLEST_GAIN_M && gainM <= STEEPEST * lengthM)
      climbs.push({ from: low, to: high, gainM, lengthM });
  };
  for (let cell = low; cell < cells; cell++) {
    const height = altitude[cell]!;
    if (Number.isNaN(height)) continue;
    if (height > altitude[high]!) high = cell;
    const gain = altitude[high]! - altitude[low]!;
    const isOver = altitude[high]! - height > max(SMALLEST_DROP_M, DROP_SHARE * gain);
    if (isOver || (height <= altitude[low]! && gain < SMALLEST_DROP_M)) {
      if (isOver) close();
      low = cell;
      high = cell;
    }
  }
  close();
  return climbs;
}

function firstKnown(values: Float64Array): number {
  return values.findIndex((value) => !Number.isNaN(value));
}

const LEAST_GAIN_M = 20;
const LEAST_GRADE = 0.03;
const MOST_CLIMBS = 20;

/** The climbs in the answer, in order of time: at most the twenty highest with 20 m or more at 3 % or more. */
export function climbParts({ elapsedS }: Track, climbs: readonly Climb[]): ClimbPart[] {
  return climbs
    .filter(({ gainM, lengthM }) => gainM >= LEAST_GAIN_M && gainM / lengthM >= LEAST_GRADE)
    .sort((a, b) => b.gainM - a.gainM)
    .slice(0, MOST_CLIMBS)
    .sort((a, b) => a.from - b.from)
    .map(({ from, to, gainM, lengthM }) => ({
      from_s: rounded(elapsedS[from]!, 1),
      to_s: rounded(elapsedS[to]!, 1),
      gain_m: rounded(gainM, 0),
      distance_m: rounded(lengthM, 0),
      grade_percent: rounded((100 * gainM) / lengthM, 1),
    }));
}
