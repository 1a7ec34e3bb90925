import { max, min } from './maths.js';

/** Moving mean over `radius` cells to either side. Leaves out NaN. The mean is NaN only if all cells nearby are NaN. */
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

/** Median of three neighbours. It removes a single outlier and keeps edges in place. */
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
