import { max, min } from '../signal/maths.js';

/** Bins at one level. */
export interface Level {
  readonly from: number;
  readonly to: number;
  readonly mean: number;
}

/**
 * Divides the values into constant levels. Each further level must lower the squared error by at least `price`. The result is
 * exact, by dynamic programming over the start of the last level. To save time, a start that cannot become the best is dropped.
 */
export function levelsOf(values: Float64Array, price: number, shortest: number): Level[] {
  const count = values.length;
  if (count === 0) return [];
  const { sum, squares } = cumulated(values);
  const error = (from: number, to: number) => {
    const total = sum[to]! - sum[from]!;
    return squares[to]! - squares[from]! - (total * total) / (to - from);
  };

  const best = new Float64Array(count + 1).fill(Infinity);
  const previous = new Int32Array(count + 1);
  const beatenAt = new Int32Array(count + 1);
  const starts = new Int32Array(count + 1);
  const costs = new Float64Array(count + 1);
  best[0] = -price;
  let open = 0;
  for (let end = min(shortest, count); end <= count; end++) {
    const newest = max(0, end - shortest);
    if (best[newest]! < Infinity) starts[open++] = newest;
    for (let i = 0; i < open; i++) {
      const start = starts[i]!;
      const cost = (costs[i] = best[start]! + error(start, end));
      if (cost + price >= best[end]!) continue;
      best[end] = cost + price;
      previous[end] = start;
    }
    let stillOpen = 0;
    for (let i = 0; i < open; i++) {
      const start = starts[i]!;
      if (beatenAt[start] === 0 && costs[i]! >= best[end]!) beatenAt[start] = end;
      // A new level from here on beats this start. The new level needs the shortest length first, so the start stays until then.
      if (beatenAt[start] === 0 || end + 1 < beatenAt[start]! + shortest) starts[stillOpen++] = start;
    }
    open = stillOpen;
  }
  return traced(previous, sum, count);
}

function traced(previous: Int32Array, sum: Float64Array, count: number): Level[] {
  const levels: Level[] = [];
  for (let to = count; to > 0; to = previous[to]!) {
    const from = previous[to]!;
    levels.push({ from, to, mean: (sum[to]! - sum[from]!) / (to - from) });
  }
  return levels.reverse();
}

function cumulated(values: Float64Array): { sum: Float64Array; squares: Float64Array } {
  const sum = new Float64Array(values.length + 1);
  const squares = new Float64Array(values.length + 1);
  for (let i = 0; i < values.length; i++) {
    sum[i + 1] = sum[i]! + values[i]!;
    squares[i + 1] = squares[i]! + values[i]! * values[i]!;
  }
  return { sum, squares };
}
