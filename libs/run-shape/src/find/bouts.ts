import { ceil, max } from '../signal/maths.js';
import { type Effort } from '../signal/effort.js';
import { smoothed } from '../signal/smooth.js';
import { median, spread } from '../signal/statistics.js';
import { type Track } from '../signal/track.js';
import { type Bout } from './bout.js';
import { sharpened } from './edges.js';
import { type Contrast } from './hard-level.js';
import { type Stretch } from './stretches.js';

// A rest is in proportion to the work: 20 s after 100 m in the water, 60 s after 200 m on the track. A red light in 25
// minutes is none.
const REST_TO_WORK = 1 / 12;
// Rests that come again, as long as before and after as much work as before, are planned, however short: 30 s between
// tens of minutes.
const PLANNED_REST_TO_WORK = 1 / 40;
const FEWEST_TO_RECUR = 3;
const RECURS_WITHIN = 0.2;
const SHORTEST_REST_S = 8;
const SHORTEST_BOUT_S = 15;
// The shortest rung of a ladder is a third of the middle one at least.
const SURGE_SHARE = 0.3;
const EDGE_RADIUS_S = 2;

/** Hard stretches, joined where nothing but a short stop is between them, and cut where the athlete rested. */
export function boutsOf(
  track: Track,
  effort: Effort,
  stretches: readonly Stretch[],
  contrast: Contrast,
): Bout[] {
  const joined = joinedParts(hardParts(stretches, contrast), track.cellS);
  const nearby = smoothed(effort.values, ceil(EDGE_RADIUS_S / track.cellS));
  const bouts = joined.map((bout) => sharpened(bout, nearby, stretches, track));
  return withoutSurges(apart(bouts), track.cellS);
}

/** Two edges on either side of a short rest may both have been moved into it. */
function apart(bouts: readonly Bout[]): Bout[] {
  return bouts.map(({ from, to }, index) => ({ from: max(from, bouts[index - 1]?.to ?? 0), to }));
}

/** Runs of hard stretches without a stop. */
function hardParts(stretches: readonly Stretch[], { hardFrom }: Contrast): Bout[] {
  const parts: Bout[] = [];
  let isOpen = false;
  for (const { from, to, isStop, level } of stretches) {
    const isHard = !isStop && level >= hardFrom;
    const last = parts[parts.length - 1];
    if (isHard && isOpen && last) parts[parts.length - 1] = { from: last.from, to };
    else if (isHard) parts.push({ from, to });
    isOpen = isHard;
  }
  return parts;
}

function joinedParts(parts: readonly Bout[], cellS: number): Bout[] {
  const restShare = recurs(parts) ? PLANNED_REST_TO_WORK : REST_TO_WORK;
  const joined: Bout[] = [];
  parts.forEach((part, index) => {
    const beside = parts[index - 1];
    const open = joined[joined.length - 1];
    if (open && beside && !isRest(beside, part, cellS, restShare))
      joined[joined.length - 1] = { from: open.from, to: part.to };
    else joined.push(part);
  });
  return joined;
}

function recurs(parts: readonly Bout[]): boolean {
  if (parts.length < FEWEST_TO_RECUR) return false;
  const rests = parts.slice(1).map(({ from }, index) => from - parts[index]!.to);
  const works = parts.map(({ from, to }) => to - from);
  return spread(rests) <= RECURS_WITHIN && spread(works) <= RECURS_WITHIN;
}

function isRest(before: Bout, after: Bout, cellS: number, restShare: number): boolean {
  const rest = after.from - before.to;
  const longer = max(before.to - before.from, after.to - after.from);
  return rest * cellS >= SHORTEST_REST_S && rest >= restShare * longer;
}

/** A sprint for a bus, a jump of the receiver: far shorter than what the session is made of. */
function withoutSurges(bouts: readonly Bout[], cellS: number): Bout[] {
  const usual = median(bouts.map(({ from, to }) => to - from));
  return bouts.filter(({ from, to }) => {
    const length = to - from;
    return length * cellS >= SHORTEST_BOUT_S && length >= SURGE_SHARE * usual;
  });
}
