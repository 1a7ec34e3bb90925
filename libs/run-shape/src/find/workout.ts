import { type Profile } from '../run-shape.js';
import { type Effort } from '../signal/effort.js';
import { type Track } from '../signal/track.js';
import { type SportFamily } from '../sport.js';
import { type Bout } from './bout.js';
import { type Climb } from './climbs.js';
import { hardPartsOf } from './hard-parts.js';
import { hillRepetitions } from './hill-repetitions.js';
import { isProgression } from './progression.js';
import { setsByStops } from './sets-by-stops.js';
import { type Stretch, stretchesOf } from './stretches.js';

/** A session with a structure. */
export interface Workout {
  readonly profile: Profile;
  /** The hard parts, if that is what it was made of. */
  readonly bouts: readonly Bout[];
  /** Where the level changed; only of a progression. */
  readonly steps: readonly Stretch[];
}

const SHORTEST_BLOCK_S = 8 * 60;
const SHORTEST_OF_TWO_S = 4 * 60;
// A slow minute in an hour is a crossing, a gate, a shoe lace: it does not make the rest a block.
const LEAST_EASY_SHARE = 0.1;
// Less is strides at the end of an easy run.
const LEAST_WORK_S = 3 * 60;
// More is stop-and-go traffic, or a sensor that leaps.
const MOST_REPETITIONS = 120;

/**
 * The finders in turn, the most particular first: the same hill again and again, hard and easy in turn, equal lengths
 * between equal rests, faster and faster, two long efforts, one. Undefined for a session that is all alike.
 */
export function workoutOf(
  track: Track,
  effort: Effort,
  family: SportFamily,
  climbs: readonly Climb[],
): Workout | undefined {
  const isRun = family === 'run';
  const hills = isRun ? hillRepetitions(track, climbs) : [];
  if (arePlausible(hills)) return madeOf('hills', hills);

  const stretches = stretchesOf(track, effort);
  const { bouts, easyShare } = hardPartsOf(track, effort, stretches) ?? { bouts: [], easyShare: 0 };
  const intervals = family === 'swim' ? 'swim' : 'intervals';
  const isWork = bouts.length > 2 && total(track, bouts) >= LEAST_WORK_S;
  if (isWork && arePlausible(bouts)) return madeOf(intervals, bouts);
  const sets = effort.by === 'speed' ? setsByStops(track) : [];
  if (arePlausible(sets)) return madeOf(intervals, sets);

  if (isRun && isProgression(track, effort)) return { profile: 'progression', bouts: [], steps: stretches };
  if (easyShare < LEAST_EASY_SHARE) return undefined;
  // Two could be chance: each must be long enough to be meant.
  if (bouts.length === 2 && shortest(track, bouts) >= SHORTEST_OF_TWO_S) return madeOf(intervals, bouts);
  if (isRun && bouts.length === 1 && shortest(track, bouts) >= SHORTEST_BLOCK_S)
    return madeOf('tempo', bouts);
  return undefined;
}

function madeOf(profile: Profile, bouts: readonly Bout[]): Workout {
  return { profile, bouts, steps: [] };
}

function arePlausible({ length }: readonly Bout[]): boolean {
  return length > 0 && length <= MOST_REPETITIONS;
}

function total({ cellS }: Track, bouts: readonly Bout[]): number {
  return bouts.reduce((sum, { from, to }) => sum + (to - from) * cellS, 0);
}

function shortest({ cellS }: Track, bouts: readonly Bout[]): number {
  return Math.min(...bouts.map(({ from, to }) => (to - from) * cellS));
}
