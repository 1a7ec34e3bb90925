import { ceil, floor, max, min } from './maths.js';
import { type Recording } from '#streams';

/** The time of a recording in cells of equal length, usually one second. A gap of over ten minutes gets cells for ten minutes. */
export interface Axis {
  readonly cells: number;
  readonly cellS: number;
  /** Elapsed seconds at the beginning of each cell. The last value is at the end of the last cell. */
  readonly elapsedS: Float64Array;
  /** Index of the sample that a cell uses. It is the first sample at or after the middle of the cell. */
  readonly sampleOf: Int32Array;
  /** 1 if nothing was recorded in the cell, because the watch was paused or had no signal. */
  readonly isGap: Uint8Array;
}

const LONGEST_GAP_S = 600;
// About 28 hours at one second a cell. A longer recording gets longer cells.
const MOST_CELLS = 100_000;
const SHORTEST_PAUSE_S = 4;

/** `time` must not decrease. Undefined if the recording is shorter than a cell. */
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
    const length = shortened(lasts);
    if (length <= 0) continue;
    const begin = end;
    end += length;
    const stretch = lasts / length;
    for (; edge <= cells && edge * cellS <= end; edge++)
      elapsedS[edge] = time[i - 1]! - time[0]! + (edge * cellS - begin) * stretch;
    for (; cell < cells && (cell + 0.5) * cellS <= end; cell++) {
      sampleOf[cell] = i;
      isGap[cell] = lasts > pauseFromS ? 1 : 0;
    }
  }
  // The rest, which is shorter than a cell, belongs to the last cell.
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

// If a channel has fewer samples than this share, the sensor has dropped out.
const LEAST_SHARE = 0.5;

/** A channel on the axis. A cell without a recorded value is NaN. Undefined if the channel is absent or mostly empty. */
export function channelOf(recording: Recording, name: string, axis: Axis): Float64Array | undefined {
  const samples = recording.channels[name];
  if (!samples) return undefined;
  const values = new Float64Array(axis.cells).fill(NaN);
  let known = 0;
  let recorded = 0;
  for (let cell = 0; cell < axis.cells; cell++) {
    if (axis.isGap[cell]) continue;
    recorded++;
    const sample = samples[axis.sampleOf[cell]!];
    if (typeof sample !== 'number') continue;
    values[cell] = sample;
    known++;
  }
  return known > 0 && known >= LEAST_SHARE * recorded ? values : undefined;
}
