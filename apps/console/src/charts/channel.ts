/** One line of values over the common x axis. */
export interface Channel {
  readonly id: string;
  readonly label: string;
  /** The unit of the values beside the axis, if they are without it. */
  readonly unit?: string;
  /** One value for each x; null is a gap. */
  readonly values: ReadonlyArray<number | null>;
  /** The colour, as tokens.css names it: `--busy`. */
  readonly colour: string;
  /** A value with its unit. */
  readonly format: (value: number | null) => string;
  /** A value beside the axis; without it, `format`. */
  readonly tick?: (value: number) => string;
  /** Values that the axis names; without it, round numbers. */
  readonly ticks?: (min: number, max: number) => number[];
  /** Marks each value, for a few values with gaps. */
  readonly hasPoints?: boolean;
}

/** A stretch of the x axis with a background. */
export interface Band {
  readonly from: number;
  readonly to: number;
  readonly colour: string;
}

interface Extremes {
  readonly lowest: number;
  readonly mean: number;
  readonly highest: number;
}

/** Null if no value is known. */
export function extremesOf(values: ReadonlyArray<number | null>): Extremes | null {
  let lowest = Infinity;
  let highest = -Infinity;
  let sum = 0;
  let known = 0;
  for (const value of values) {
    if (value === null) continue;
    lowest = Math.min(lowest, value);
    highest = Math.max(highest, value);
    sum += value;
    known += 1;
  }
  return known === 0 ? null : { lowest, mean: sum / known, highest };
}

// A device that saves samples only at changes leaves out some seconds. That is no pause.
const SHORTEST_PAUSE_S = 15;
const STEPS_IN_PAUSE = 4;

/** The shortest time between two samples, in seconds, that counts as a pause: four usual steps, but at least 15 s. */
export function pauseOf(seconds: readonly number[]): number {
  const steps = seconds.slice(1).map((second, index) => second - (seconds[index] ?? 0));
  const usual = steps.sort((a, b) => a - b)[Math.floor(steps.length / 2)] ?? 0;
  return Math.max(SHORTEST_PAUSE_S, usual * STEPS_IN_PAUSE);
}

/** Indices of values that no line reaches: on both sides there is no value, or a pause. They are drawn as points. */
export function isolatedIn(
  values: ReadonlyArray<number | null>,
  xs: readonly number[],
  gapFrom = Infinity,
): number[] {
  const isJoined = (index: number) =>
    values[index - 1] != null && values[index] != null && (xs[index] ?? 0) - (xs[index - 1] ?? 0) < gapFrom;
  return values.flatMap((value, index) =>
    value !== null && !isJoined(index) && !isJoined(index + 1) ? [index] : [],
  );
}

/** The index of the x nearest to `wanted`; `xs` ascends. */
export function nearest(xs: readonly number[], wanted: number): number {
  let low = 0;
  let high = xs.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((xs[middle] ?? 0) < wanted) low = middle + 1;
    else high = middle;
  }
  const before = xs[low - 1];
  return before !== undefined && wanted - before < (xs[low] ?? 0) - wanted ? low - 1 : low;
}
