import { max } from '../signal/maths.js';
import { type Track } from '../signal/track.js';

/** From a low point to the next high one, in cells. */
export interface Climb {
  readonly from: number;
  readonly to: number;
  readonly gainM: number;
  readonly lengthM: number;
}

// A way down of less than this, or of less than a fifth of what was climbed, is part of the climb.
const SMALLEST_DROP_M = 3;
const DROP_SHARE = 0.2;
const LEAST_GAIN_M = 5;
// Steeper is a lift, a ladder or a barometer.
const STEEPEST = 0.6;

/** Every way up of some metres, whatever the effort. */
export function climbsOf({ altitude, metres, cells }: Track): Climb[] {
  if (!altitude || !metres) return [];
  const climbs: Climb[] = [];
  let low = firstKnown(altitude);
  let high = low;
  if (low < 0) return [];
  const close = () => {
    const gainM = altitude[high]! - altitude[low]!;
    const lengthM = metres[high]! - metres[low]!;
    if (gainM >= LEAST_GAIN_M && gainM <= STEEPEST * lengthM)
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
