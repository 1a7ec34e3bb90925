import { type Track } from '../signal/track.js';
import { rounded } from '../signal/maths.js';

/** Values of the cells `from` to `to` - 1. Only `fromS` and `toS` are rounded. */
export interface StretchFacts {
  readonly fromS: number;
  readonly toS: number;
  readonly movingS: number;
  readonly metres: number | null;
  readonly paceSPerKm: number | null;
  readonly heartRate: number | null;
  readonly watts: number | null;
}

// At a slower pace the athlete stands and the position drifts, so the pace becomes null.
const SLOWEST_PACE_S_PER_KM = 3_600;

export function factsOfStretch(track: Track, from: number, to: number): StretchFacts {
  const { elapsedS, metres, isStill } = track;
  const fromS = elapsedS[from]!;
  const toS = elapsedS[to]!;
  let movingS = 0;
  for (let cell = from; cell < to; cell++)
    if (!isStill[cell]) movingS += elapsedS[cell + 1]! - elapsedS[cell]!;
  const covered = metres ? metres[to]! - metres[from]! : null;
  const pace = covered ? (1_000 * movingS) / covered : null;
  return {
    fromS: rounded(fromS, 1),
    toS: rounded(toS, 1),
    movingS,
    metres: covered,
    paceSPerKm: pace !== null && pace > 0 && pace <= SLOWEST_PACE_S_PER_KM ? pace : null,
    heartRate: meanOf(track.heartRate, from, to),
    watts: meanOf(track.watts, from, to),
  };
}

function meanOf(values: Float64Array | undefined, from: number, to: number): number | null {
  if (!values) return null;
  let sum = 0;
  let known = 0;
  for (let cell = from; cell < to; cell++) {
    if (Number.isNaN(values[cell])) continue;
    sum += values[cell]!;
    known++;
  }
  return known > 0 ? sum / known : null;
}
