import { ceil, floor, max, min } from './maths.js';

/**
 * Seconds as the athlete lived them, in cells of equal length. Long silences are shortened: an hour in a café needs
 * no more cells than ten minutes do.
 */
export interface Axis {
  readonly cells: number;
  readonly cellS: number;
  /** Elapsed seconds at the beginning of each cell, and at the end of the last. */
  readonly elapsedS: Float64Array;
  /** Which sample speaks for a cell: the first one at or after its middle. */
  readonly sampleOf: Int32Array;
  /** Nothing was recorded there: the watch was paused, or out of reach. */
  readonly isGap: Uint8Array;
}

const LONGEST_GAP_S = 600;
// 28 hours by the second; beyond, cells get longer.
const MOST_CELLS = 100_000;
const SHORTEST_PAUSE_S = 4;

/** `time` does not decrease. Undefined where no time passes. */
export function axisOf(time: readonly number[]): Axis | undefined {
  const pauseFromS = max(SHORTEST_PAUSE_S, 3 * usualInterval(time));
  let length = 0;
  for (let i = 1; i < time.length; i++) length += shortened(time[i]! - time[i - 1]!);
  const cellS = max(1, ceil(length / MOST_CELLS));
  const cells = floor(length / cellS + 1e-9);
  if (cells < 1) return undefined;

  const elapsedS = new Float64Array(cells + 1);
  const sampleOf = new Int32Array(cells);
  const isGap = new Uint8Array(cells);
  let cell = 0;
  let edge = 0;
  let end = 0;
  for (let i = 1; i < time.length; i++) {
    const lasts = time[i]! - time[i - 1]!;
    const kept = shortened(lasts);
    if (kept <= 0) continue;
    const begin = end;
    end += kept;
    const stretch = lasts / kept;
    for (; edge <= cells && edge * cellS <= end; edge++)
      elapsedS[edge] = time[i - 1]! - time[0]! + (edge * cellS - begin) * stretch;
    for (; cell < cells && (cell + 0.5) * cellS <= end; cell++) {
      sampleOf[cell] = i;
      isGap[cell] = lasts > pauseFromS ? 1 : 0;
    }
  }
  // What is left of less than a cell belongs to the last.
  elapsedS[cells] = time[time.length - 1]! - time[0]!;
  return { cells, cellS, elapsedS, sampleOf, isGap };
}

function shortened(seconds: number): number {
  return min(seconds, LONGEST_GAP_S);
}

function usualInterval(time: readonly number[]): number {
  const intervals = new Float64Array(max(1, time.length - 1));
  for (let i = 1; i < time.length; i++) intervals[i - 1] = time[i]! - time[i - 1]!;
  intervals.sort();
  return intervals[intervals.length >> 1]!;
}
