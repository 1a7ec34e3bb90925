import { type Climb } from '../find/climbs.js';
import { type ClimbPart } from '../run-shape.js';
import { type Track } from '../signal/track.js';
import { rounded } from './rounding.js';

const LEAST_GAIN_M = 20;
const LEAST_GRADE = 0.03;
const MOST_CLIMBS = 20;

/** The climbs one would tell of, in the order in which they came; of very many the highest. */
export function climbParts({ elapsedS }: Track, climbs: readonly Climb[]): ClimbPart[] {
  return climbs
    .filter(({ gainM, lengthM }) => gainM >= LEAST_GAIN_M && gainM / lengthM >= LEAST_GRADE)
    .sort((a, b) => b.gainM - a.gainM)
    .slice(0, MOST_CLIMBS)
    .sort((a, b) => a.from - b.from)
    .map(({ from, to, gainM, lengthM }) => ({
      from_s: rounded(elapsedS[from]!, 1),
      to_s: rounded(elapsedS[to]!, 1),
      gain_m: rounded(gainM, 0),
      distance_m: rounded(lengthM, 0),
      grade_percent: rounded((100 * gainM) / lengthM, 1),
    }));
}
