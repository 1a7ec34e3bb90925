import { type Track } from './track.js';

/** Of what was measured while the athlete moved; null if nothing was. */
export function meanInMotion({ isStill }: Track, values: Float64Array | undefined): number | null {
  if (!values) return null;
  let sum = 0;
  let count = 0;
  values.forEach((value, cell) => {
    if (Number.isNaN(value) || isStill[cell]) return;
    sum += value;
    count++;
  });
  return count > 0 ? sum / count : null;
}
