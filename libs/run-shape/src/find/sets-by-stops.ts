import { abs, median } from '../signal/maths.js';
import { type Track } from '../signal/track.js';
import { type Bout } from './hard-parts.js';
import { stopsOf } from './stretches.js';

// Red lights have random lengths. Three equal rests between four equal distances are planned.
const FEWEST = 4;
const LENGTH_TOLERANCE = 0.12;
const REST_TOLERANCE = 0.35;
const SHORTEST_REST_S = 8;

/** Finds repetitions without easy parts, as in a pool. They are equal distances between equal rests. */
export function setsByStops(track: Track): Bout[] {
  const { metres, cells, cellS } = track;
  if (!metres) return [];
  const rests = stopsOf(track).filter(({ from, to }) => (to - from) * cellS >= SHORTEST_REST_S);
  const edges = [{ from: 0, to: 0 }, ...rests, { from: cells, to: cells }];
  const parts = edges.slice(1).map((rest, index) => ({ from: edges[index]!.to, to: rest.from }));
  const lengths = parts.map(({ from, to }) => metres[to]! - metres[from]!);
  const usualLength = median(lengths);
  const usualRest = median(rests.map(({ from, to }) => to - from));
  const isAlike = (value: number, usual: number, tolerance: number) =>
    abs(value - usual) <= tolerance * usual;

  let best: Bout[] = [];
  let row: Bout[] = [];
  parts.forEach((part, index) => {
    const before = rests[index - 1];
    const isRested = before !== undefined && isAlike(before.to - before.from, usualRest, REST_TOLERANCE);
    if (!isAlike(lengths[index]!, usualLength, LENGTH_TOLERANCE)) row = [];
    else row = isRested ? [...row, part] : [part];
    if (row.length > best.length) best = row;
  });
  return best.length >= FEWEST ? best : [];
}
