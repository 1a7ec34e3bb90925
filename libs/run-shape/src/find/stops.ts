import { type Track } from '../signal/track.js';

/** Standing, in cells. */
export interface Stop {
  readonly from: number;
  readonly to: number;
}

const SHORTEST_S = 5;

/** Wherever it lasts. */
export function stopsOf({ isStill, cells, cellS }: Track): Stop[] {
  const stops: Stop[] = [];
  let from = -1;
  for (let cell = 0; cell <= cells; cell++) {
    const isHere = cell < cells && isStill[cell] === 1;
    if (isHere && from < 0) from = cell;
    if (!isHere && from >= 0) {
      if ((cell - from) * cellS >= SHORTEST_S) stops.push({ from, to: cell });
      from = -1;
    }
  }
  return stops;
}
