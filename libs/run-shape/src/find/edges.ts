import { ceil } from '../signal/maths.js';
import { type Track } from '../signal/track.js';
import { type Bout } from './bout.js';
import { type Stretch } from './stretches.js';

const SEARCH_S = 12;

/**
 * From the bins' seconds to the second in which the effort is half-way between the levels on either side. Out of and
 * into a stop there is nothing to look for: it begins with the first step and ends with the last.
 */
export function sharpened(
  bout: Bout,
  nearby: Float64Array,
  stretches: readonly Stretch[],
  track: Track,
): Bout {
  const reach = ceil(SEARCH_S / track.cellS);
  const start = stretches.findIndex(({ from }) => from === bout.from);
  const end = stretches.findIndex(({ to }) => to === bout.to);
  const rises = lineBetween(stretches[start - 1], stretches[start]);
  const falls = lineBetween(stretches[end], stretches[end + 1]);
  const isUp = (cell: number) => nearby[cell]! >= rises! && !(nearby[cell - 1]! >= rises!);
  const isDown = (cell: number) => !(nearby[cell]! >= falls!) && nearby[cell - 1]! >= falls!;
  const from = rises === undefined ? bout.from : nearest(bout.from, reach, isUp, track.cells);
  const to = falls === undefined ? bout.to : nearest(bout.to, reach, isDown, track.cells);
  return to > from ? { from, to } : bout;
}

function lineBetween(before: Stretch | undefined, after: Stretch | undefined): number | undefined {
  if (!before || !after || before.isStop || after.isStop) return undefined;
  return (before.level + after.level) / 2;
}

function nearest(cell: number, reach: number, accepts: (cell: number) => boolean, cells: number): number {
  for (let off = 0; off <= reach; off++) {
    if (cell + off < cells && accepts(cell + off)) return cell + off;
    if (cell - off > 0 && accepts(cell - off)) return cell - off;
  }
  return cell;
}
