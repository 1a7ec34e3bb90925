import { max, min } from './maths.js';

/** Mean over `radius` cells to either side; NaN is left out, and remains only where nothing is known nearby. */
export function smoothed(values: Float64Array, radius: number): Float64Array {
  const out = new Float64Array(values.length);
  let sum = 0;
  let known = 0;
  for (let i = -radius; i < values.length; i++) {
    const enters = i + radius;
    if (enters < values.length && !Number.isNaN(values[enters])) {
      sum += values[enters]!;
      known++;
    }
    const leaves = i - radius - 1;
    if (leaves >= 0 && !Number.isNaN(values[leaves])) {
      sum -= values[leaves]!;
      known--;
    }
    if (i >= 0) out[i] = known > 0 ? sum / known : NaN;
  }
  return out;
}

/** The middle of three neighbours: a single wild sample is gone, an edge stays where it is. */
export function withoutSpikes(values: Float64Array): Float64Array {
  const out = values.slice();
  for (let i = 1; i < values.length - 1; i++) {
    const a = values[i - 1]!;
    const b = values[i]!;
    const c = values[i + 1]!;
    out[i] = max(min(a, b), min(max(a, b), c));
  }
  return out;
}
