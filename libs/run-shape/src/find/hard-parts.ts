import { type Effort } from '../signal/effort.js';
import { type Track } from '../signal/track.js';
import { type Bout } from './bout.js';
import { boutsOf } from './bouts.js';
import { contrastOf } from './hard-level.js';
import { type Stretch } from './stretches.js';

/** The hard parts of a session that alternates between hard and easy. One is a block; several are repetitions. */
export interface HardParts {
  readonly bouts: readonly Bout[];
  /** How much harder they are than the rest: 1.3 is 30 %. */
  readonly contrast: number;
  /** Easy time, as a share of the time in motion. */
  readonly easyShare: number;
}

// Rolling ground and moods make a tenth; power makes much more of the same difference than speed does.
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
