import { abs, ceil, floor, max, min, round } from '../signal/maths.js';
import { type Effort } from '../signal/effort.js';
import { median } from '../signal/statistics.js';
import { type Track } from '../signal/track.js';
import { type Level, levelsOf } from './levels.js';
import { type Stop, stopsOf } from './stops.js';

/** A part of the track, in cells, at one effort or at rest. */
export interface Stretch {
  readonly from: number;
  readonly to: number;
  readonly isStop: boolean;
  /** Mean effort; 0 for a stop. */
  readonly level: number;
}

const BIN_S: Readonly<Record<Effort['by'], number>> = { speed: 5, power: 10 };
// Shorter ones are strides and accelerations out of a bend.
const SHORTEST_S = 20;
// Two changes of level are just paid by two minutes 6 % faster, or ten minutes 3 % faster; of power, which leaps about,
// by a minute a third harder, or ten minutes an eighth harder.
const LEAST_PRICE: Readonly<Record<Effort['by'], number>> = { speed: 0.04, power: 0.4 };
// The error a change must save, in variances of what jitters from bin to bin: noise that wanders is no change of plan.
const PRICE_IN_VARIANCES = 30;
// Keeps the work within what a day-long recording may cost.
const MOST_BINS = 3_000;

/**
 * Where the effort changes and where the athlete stands. Levels are looked for as if there were no stops: a red light
 * in the middle of a block does not end it.
 */
export function stretchesOf(track: Track, effort: Effort): Stretch[] {
  const stops = stopsOf(track);
  const moving = movingCells(track, stops, effort);
  const binCells = max(1, round(BIN_S[effort.by] / track.cellS), ceil(moving.length / MOST_BINS));
  const bins = binned(effort.values, moving, binCells);
  const shortest = max(2, ceil(SHORTEST_S / (binCells * track.cellS)));
  const price = max(LEAST_PRICE[effort.by], PRICE_IN_VARIANCES * jitter(bins));
  const levels = levelsOf(bins, price, shortest);
  return laidOut(track, stops, moving, levels, binCells);
}

function movingCells({ cells }: Track, stops: readonly Stop[], effort: Effort): Int32Array {
  const moving = new Int32Array(cells);
  let count = 0;
  let next = 0;
  for (let cell = 0; cell < cells; cell++) {
    while (next < stops.length && cell >= stops[next]!.to) next++;
    const isStop = next < stops.length && cell >= stops[next]!.from;
    if (!isStop && !Number.isNaN(effort.values[cell])) moving[count++] = cell;
  }
  return moving.slice(0, count);
}

function binned(values: Float64Array, moving: Int32Array, binCells: number): Float64Array {
  const bins = new Float64Array(floor(moving.length / binCells));
  for (let bin = 0; bin < bins.length; bin++) {
    let sum = 0;
    for (let i = bin * binCells; i < (bin + 1) * binCells; i++) sum += values[moving[i]!]!;
    bins[bin] = sum / binCells;
  }
  return bins;
}

/** Variance of a bin against the mean of its neighbours, unmoved by the few real changes. */
function jitter(bins: Float64Array): number {
  const offs = new Float64Array(max(0, bins.length - 2));
  for (let i = 0; i < offs.length; i++) offs[i] = abs(bins[i + 1]! - (bins[i]! + bins[i + 2]!) / 2);
  // 1.4826 turns a median of absolute deviations into a standard deviation; 1.5 is the variance of this difference.
  return (1.4826 * median(offs)) ** 2 / 1.5;
}

/** Levels back on the axis of cells, with the stops between and within them. */
function laidOut(
  track: Track,
  stops: readonly Stop[],
  moving: Int32Array,
  levels: readonly Level[],
  binCells: number,
): Stretch[] {
  const stretches: Stretch[] = [];
  let at = 0;
  let next = 0;
  const add = (to: number, isStop: boolean, level: number) => {
    if (to <= at) return;
    stretches.push({ from: at, to, isStop, level });
    at = to;
  };
  levels.forEach(({ to, mean }, index) => {
    const isLast = index === levels.length - 1;
    const end = isLast ? track.cells : moving[min(moving.length - 1, to * binCells)]!;
    for (; next < stops.length && stops[next]!.from < end; next++) {
      add(stops[next]!.from, false, mean);
      add(stops[next]!.to, true, 0);
    }
    add(end, false, mean);
  });
  return stretches;
}
