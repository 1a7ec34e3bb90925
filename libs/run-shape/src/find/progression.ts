import { floor } from '../signal/maths.js';
import { type Effort } from '../signal/effort.js';
import { type Track } from '../signal/track.js';

const PARTS = 4;
const LEAST_RISE = 1.15;
// Because of ground and traffic, a quarter may be a little slower than the previous quarter.
const STEP_TOLERANCE = 0.02;
const SHORTEST_S = 15 * 60;

/** True if no quarter of the time in motion is clearly slower than the previous quarter, and the last is 15 % faster than the first. */
export function isProgression(track: Track, effort: Effort): boolean {
  const parts = quarters(effort.values);
  if (!parts || movingSeconds(track) < SHORTEST_S) return false;
  const rises = parts.every((part, index) => index === 0 || part >= parts[index - 1]! * (1 - STEP_TOLERANCE));
  return rises && parts[PARTS - 1]! >= LEAST_RISE * parts[0]!;
}

function movingSeconds({ isStill, cellS }: Track): number {
  return isStill.reduce((sum, still) => sum + (still ? 0 : cellS), 0);
}

function quarters(values: Float64Array): number[] | undefined {
  const moving = values.filter((value) => !Number.isNaN(value));
  const length = floor(moving.length / PARTS);
  if (length === 0) return undefined;
  return Array.from({ length: PARTS }, (_, part) => {
    let sum = 0;
    for (let i = part * length; i < (part + 1) * length; i++) sum += moving[i]!;
    return sum / length;
  });
}
