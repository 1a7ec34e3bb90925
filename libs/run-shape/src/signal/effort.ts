import { ceil, floor, max, median, min } from './maths.js';
import { type SportFamily } from '../sport.js';
import { gradeOf, slopeResponse } from './slope.js';
import { smoothed } from './smooth.js';
import { type Track } from './track.js';

/** Speed or power as a multiple of its median in this session. NaN while the athlete stands. */
export interface Effort {
  readonly by: 'speed' | 'power';
  readonly values: Float64Array;
}

// On very steep ground speed does not follow effort. So the correction for slope is at most about a third.
const MOST_CORRECTION = 0.35;
const LONGEST_COASTING_S = 60;
const EASY_QUANTILE = 1 / 3;

/**
 * For runs and swims, the effort is the speed, corrected for slope. For rides it is the power, since speed depends on wind and
 * road. Undefined for a ride without a power meter. Undefined for all other sports, because they have no structure to find.
 */
export function effortOf(track: Track, family: SportFamily): Effort | undefined {
  if (family === 'run' || family === 'swim') return speedEffort(track);
  if (family === 'ride') return powerEffort(track);
  return undefined;
}

function speedEffort(track: Track): Effort | undefined {
  const { speed, isStill, cells } = track;
  const usual = speed && median(speed.filter((_, cell) => !isStill[cell]));
  if (!usual) return undefined;
  const grade = gradeOf(track);
  const response = grade ? slopeResponse(track, grade, usual) : 0;
  const values = new Float64Array(cells);
  for (let cell = 0; cell < cells; cell++) {
    const correction = grade ? response * grade[cell]! : 0;
    const bounded = min(MOST_CORRECTION, max(-MOST_CORRECTION, correction));
    values[cell] = isStill[cell] ? NaN : (speed[cell]! / usual) * (1 + bounded);
  }
  return { by: 'speed', values };
}

/**
 * On a hilly road a few seconds without power are no recovery. So a cell without pedalling gets the mean power of the pedalling
 * nearby. The value is limited to the power that a third of this ride's pedalling stays below.
 */
function powerEffort(track: Track): Effort | undefined {
  const { watts, isStill, cells, cellS } = track;
  if (!watts) return undefined;
  const pedalling = watts.map((value, cell) => (value > 0 && !isStill[cell] ? value : NaN));
  const pedalled = pedalling.filter((value) => !Number.isNaN(value)).sort();
  const usual = median(pedalled);
  if (usual <= 0) return undefined;
  const easy = pedalled[floor(pedalled.length * EASY_QUANTILE)]!;
  const nearby = smoothed(pedalling, ceil(LONGEST_COASTING_S / cellS));
  const values = new Float64Array(cells);
  for (let cell = 0; cell < cells; cell++) {
    const value = Number.isNaN(pedalling[cell]) ? min(easy, nearby[cell]!) : pedalling[cell]!;
    values[cell] = isStill[cell] || Number.isNaN(value) ? NaN : value / usual;
  }
  return { by: 'power', values };
}
