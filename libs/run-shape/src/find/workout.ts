import { type Profile } from '../run-shape.js';
import { type Effort } from '../signal/effort.js';
import { type Track } from '../signal/track.js';
import { type SportFamily } from '../sport.js';
import { type Bout, hardPartsOf } from './hard-parts.js';
import { type Climb } from './climbs.js';
import { hillRepetitions } from './hill-repetitions.js';
import { isProgression } from './progression.js';
import { setsByStops } from './sets-by-stops.js';
import { type Stretch, stretchesOf } from './stretches.js';

/** A session with a structure. */
export interface Workout {
  readonly profile: Profile;
  /** The hard parts; empty for a progression and for an even session. */
  readonly bouts: readonly Bout[];
  /** The stretches of a progression; otherwise empty. */
  readonly steps: readonly Stretch[];
}

const SHORTEST_BLOCK_S = 8 * 60;
const SHORTEST_OF_TWO_S = 4 * 60;
// One slow minute in an hour is a crossing or a shoe lace. It does not turn the other minutes into a hard block.
const LEAST_EASY_SHARE = 0.1;
// Shorter work in total is only strides at the end of an easy run.
const LEAST_WORK_S = 3 * 60;
// More repetitions mean stop-and-go traffic or a faulty sensor.
const MOST_REPETITIONS = 120;

/**
 * Tries the finders in this order, the most specific first: hill repetitions, alternating hard and easy parts, equal distances
 * between equal rests, a progression, two long hard parts, one hard block. Undefined for an even session.
 */
export function workoutOf(
  track: Track,
  effort: Effort,
  family: SportFamily,
  climbs: readonly Climb[],
): Workout | undefined {
  const isRun = family === 'run';
  const hills = isRun ? hillRepetitions(track, climbs) : [];
  if (arePlausible(hills)) return workoutFrom('hills', hills);

  const stretches = stretchesOf(track, effort);
  const { bouts, easyShare } = hardPartsOf(track, effort, stretches) ?? { bouts: [], easyShare: 0 };
  const intervals = family === 'swim' ? 'swim' : 'intervals';
  const isWork = bouts.length > 2 && total(track, bouts) >= LEAST_WORK_S;
  if (isWork && arePlausible(bouts)) return workoutFrom(intervals, bouts);
  const sets = effort.by === 'speed' ? setsByStops(track) : [];
  if (arePlausible(sets)) return workoutFrom(intervals, sets);

  if (isRun && isProgression(track, effort)) return { profile: 'progression', bouts: [], steps: stretches };
  if (easyShare < LEAST_EASY_SHARE) return undefined;
  // Two hard parts may be chance. So each part must be long enough to look planned.
  if (bouts.length === 2 && shortest(track, bouts) >= SHORTEST_OF_TWO_S) return workoutFrom(intervals, bouts);
  if (isRun && bouts.length === 1 && shortest(track, bouts) >= SHORTEST_BLOCK_S)
    return workoutFrom('tempo', bouts);
  return undefined;
}

function workoutFrom(profile: Profile, bouts: readonly Bout[]): Workout {
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
