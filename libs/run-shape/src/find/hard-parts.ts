import { ceil, max, median, spread } from '../signal/maths.js';
import { type Effort } from '../signal/effort.js';
import { smoothed } from '../signal/smooth.js';
import { type Track } from '../signal/track.js';
import { type Contrast, contrastOf } from './hard-level.js';
import { type Stretch } from './stretches.js';

/** One uninterrupted hard part, in cells. */
export interface Bout {
  readonly from: number;
  readonly to: number;
}

/** The hard parts of a session with hard and easy parts. One hard part is a block; several hard parts are repetitions. */
interface HardParts {
  readonly bouts: readonly Bout[];
  /** Mean level of the hard stretches divided by the mean level of the easy stretches. 1.3 means 30 % harder. */
  readonly contrast: number;
  /** Easy time, as a share of the time in motion. */
  readonly easyShare: number;
}

// Rolling ground and mood change the pace of an even run by a tenth. A change of effort changes power more than speed.
const LEAST_CONTRAST: Readonly<Record<Effort['by'], number>> = { speed: 1.15, power: 1.35 };

export function hardPartsOf(
  track: Track,
  effort: Effort,
  stretches: readonly Stretch[],
): HardParts | undefined {
  const found = contrastOf(stretches);
  if (!found || found.easy <= 0) return undefined;
  const contrast = found.hard / found.easy;
  if (contrast < LEAST_CONTRAST[effort.by]) return undefined;
  return { bouts: boutsOf(track, effort, stretches, found), contrast, easyShare: found.easyShare };
}

// A rest is in proportion to the work, for example 20 s after 100 m in the water or 60 s after 200 m on the track. A stop at a
// red light during 25 minutes of work is not a rest.
const REST_TO_WORK = 1 / 12;
// Equal rests between equal parts of work are planned, even if the rests are short, such as 30 s after ten minutes.
const PLANNED_REST_TO_WORK = 1 / 40;
const FEWEST_TO_RECUR = 3;
const RECURS_WITHIN = 0.2;
const SHORTEST_REST_S = 8;
const SHORTEST_BOUT_S = 15;
// The shortest part of a ladder is at least a third of the median part.
const SURGE_SHARE = 0.3;
const EDGE_RADIUS_S = 2;

/** Joins hard stretches across short interruptions, and separates them where the athlete rested. */
function boutsOf(track: Track, effort: Effort, stretches: readonly Stretch[], contrast: Contrast): Bout[] {
  const joined = joinedParts(hardParts(stretches, contrast), track.cellS);
  const nearby = smoothed(effort.values, ceil(EDGE_RADIUS_S / track.cellS));
  const bouts = joined.map((bout) => refined(bout, nearby, stretches, track));
  return withoutSurges(withoutOverlaps(bouts), track.cellS);
}

/** `refined` may move both edges of a short rest inwards, past each other. Then the bouts before and after the rest overlap. */
function withoutOverlaps(bouts: readonly Bout[]): Bout[] {
  return bouts.map(({ from, to }, index) => ({ from: max(from, bouts[index - 1]?.to ?? 0), to }));
}

/** Joins neighbouring hard stretches. A stop or an easy stretch ends a part. */
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

/** Drops parts that are far shorter than the median part, such as a sprint for a bus or a jump of the receiver. */
function withoutSurges(bouts: readonly Bout[], cellS: number): Bout[] {
  const usual = median(bouts.map(({ from, to }) => to - from));
  return bouts.filter(({ from, to }) => {
    const length = to - from;
    return length * cellS >= SHORTEST_BOUT_S && length >= SURGE_SHARE * usual;
  });
}

const SEARCH_S = 12;

/**
 * Moves each edge of a bout to the cell in which the effort is half-way between the levels before and after the edge. Before
 * this, an edge lies on a bin of several seconds. An edge next to a stop stays, because the stop gives the exact second.
 */
function refined(bout: Bout, nearby: Float64Array, stretches: readonly Stretch[], track: Track): Bout {
  const reach = ceil(SEARCH_S / track.cellS);
  const start = stretches.findIndex(({ from }) => from === bout.from);
  const end = stretches.findIndex(({ to }) => to === bout.to);
  const rises = thresholdBetween(stretches[start - 1], stretches[start]);
  const falls = thresholdBetween(stretches[end], stretches[end + 1]);
  const isUp = (cell: number) => nearby[cell]! >= rises! && !(nearby[cell - 1]! >= rises!);
  const isDown = (cell: number) => !(nearby[cell]! >= falls!) && nearby[cell - 1]! >= falls!;
  const from = rises === undefined ? bout.from : nearest(bout.from, reach, isUp, track.cells);
  const to = falls === undefined ? bout.to : nearest(bout.to, reach, isDown, track.cells);
  return to > from ? { from, to } : bout;
}

function thresholdBetween(before: Stretch | undefined, after: Stretch | undefined): number | undefined {
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
