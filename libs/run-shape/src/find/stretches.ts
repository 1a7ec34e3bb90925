import { abs, ceil, floor, max, median, min, round } from '../signal/maths.js';
import { type Effort } from '../signal/effort.js';
import { type Track } from '../signal/track.js';
import { type Level, levelsOf } from './levels.js';

/** A part of the track at one level of effort or at rest, in cells. */
export interface Stretch {
  readonly from: number;
  readonly to: number;
  readonly isStop: boolean;
  /** Mean effort; 0 for a stop. */
  readonly level: number;
}

const BIN_S: Readonly<Record<Effort['by'], number>> = { speed: 5, power: 10 };
// A shorter level is a stride or an acceleration out of a bend.
const SHORTEST_S = 20;
// A faster part costs two changes of level. It is found from about two minutes at 6 % more speed, or ten minutes at 3 % more.
// Power fluctuates more. A harder part is found from about a minute at 37 % more power, or ten minutes at 12 % more.
const LEAST_PRICE: Readonly<Record<Effort['by'], number>> = { speed: 0.04, power: 0.4 };
// A change of level must save at least this many variances between neighbouring bins. So noise makes no change of level.
const PRICE_IN_VARIANCES = 30;
// Limits the cost of a day-long recording.
const MOST_BINS = 3_000;

/** Divides the track into levels and stops. Stops are cut out before the search for levels, so a red light does not end a block. */
export function stretchesOf(track: Track, effort: Effort): Stretch[] {
  const stops = stopsOf(track);
  const moving = movingCells(track, stops, effort);
  const binCells = max(1, round(BIN_S[effort.by] / track.cellS), ceil(moving.length / MOST_BINS));
  const bins = binned(effort.values, moving, binCells);
  const shortest = max(2, ceil(SHORTEST_S / (binCells * track.cellS)));
  const price = max(LEAST_PRICE[effort.by], PRICE_IN_VARIANCES * jitter(bins));
  const levels = levelsOf(bins, price, shortest);
  return toStretches(track, stops, moving, levels, binCells);
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

/** Variance of the bins against the mean of their neighbours. It is computed by a median, so the few real changes do not matter. */
function jitter(bins: Float64Array): number {
  const offs = new Float64Array(max(0, bins.length - 2));
  for (let i = 0; i < offs.length; i++) offs[i] = abs(bins[i + 1]! - (bins[i]! + bins[i + 2]!) / 2);
  // 1.4826 turns a median of absolute deviations into a standard deviation. For noise of variance 1, an `off` has variance 1.5.
  return (1.4826 * median(offs)) ** 2 / 1.5;
}

/** Converts levels from bins to cells, and puts the stops back. */
function toStretches(
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

/** A stop, in cells. */
interface Stop {
  readonly from: number;
  readonly to: number;
}

const SHORTEST_STOP_S = 5;

/** All stops of 5 s and more. */
export function stopsOf({ isStill, cells, cellS }: Track): Stop[] {
  const stops: Stop[] = [];
  let from = -1;
  for (let cell = 0; cell <= cells; cell++) {
    const isHere = cell < cells && isStill[cell] === 1;
    if (isHere && from < 0) from = cell;
    if (!isHere && from >= 0) {
      if ((cell - from) * cellS >= SHORTEST_STOP_S) stops.push({ from, to: cell });
      from = -1;
    }
  }
  return stops;
}
