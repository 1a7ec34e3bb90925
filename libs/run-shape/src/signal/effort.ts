import { ceil, floor, max, min } from './maths.js';
import { type SportFamily } from '../sport.js';
import { gradeOf } from './grade.js';
import { slopeResponse } from './slope-response.js';
import { smoothed } from './smooth.js';
import { median } from './statistics.js';
import { type Track } from './track.js';

/** What the athlete steers by, as multiples of its usual value on this day; NaN where nobody moves. */
export interface Effort {
  readonly by: 'speed' | 'power';
  readonly values: Float64Array;
}

// On the steepest ground legs, not lungs, decide: no slope changes the judgement by more than a third.
const MOST_CORRECTION = 0.35;
const LONGEST_COASTING_S = 60;
const EASY_QUANTILE = 1 / 3;

/**
 * Runners and swimmers steer by speed, corrected for hills. On a bike speed tells of wind and road: without a power
 * meter nothing does. Walks, hikes and the gym are not steered at all.
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
 * Freewheeling is no effort, yet on a hilly road no rest from one either: it counts as the pedalling around it, and at
 * most as what is easy on this day.
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
