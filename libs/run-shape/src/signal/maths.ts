/** Bound once for the loops over cells, because in Jest's context a look-up of the global `Math` takes a hundred times as long. */
export const { abs, ceil, cos, floor, max, min, pow, round, sqrt } = Math;

/** Median; 0 if empty. */
export function median(values: ArrayLike<number>): number {
  if (values.length === 0) return 0;
  const sorted = Float64Array.from(values).sort();
  const middle = sorted.length >> 1;
  return sorted.length % 2 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}

export function mean(values: readonly number[]): number {
  if (values.length === 0) return 0;
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** Standard deviation as a share of the mean; 0 for fewer than two values. */
export function spread(values: readonly number[]): number {
  const middle = mean(values);
  if (values.length < 2 || middle === 0) return 0;
  return sqrt(mean(values.map((value) => (value - middle) ** 2))) / abs(middle);
}

/** Weighted median; 0 if empty. */
export function weightedMedian(values: readonly { value: number; weight: number }[]): number {
  const sorted = [...values].sort((a, b) => a.value - b.value);
  const half = sorted.reduce((sum, { weight }) => sum + weight, 0) / 2;
  let below = 0;
  for (const { value, weight } of sorted) {
    below += weight;
    if (below >= half) return value;
  }
  return 0;
}

export function rounded(value: number, decimals: number): number {
  const unit = 10 ** decimals;
  // Adding 0 turns -0 into 0. The two print alike, so their hashes must be equal too.
  return round(value * unit) / unit + 0;
}
