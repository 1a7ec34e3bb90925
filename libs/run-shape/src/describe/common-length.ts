import { median, spread } from '../signal/statistics.js';
import { nearestRound, offRound, ROUND_DISTANCES_M, ROUND_DURATIONS_S } from './round-lengths.js';
import { rounded } from './rounding.js';

/** What repetitions have in common: a distance or a time. Both null when they differ, as on a ladder. */
export interface CommonLength {
  readonly distance_m: number | null;
  readonly duration_s: number | null;
}

const MOST_SPREAD = 0.1;
const ROUND_WITHIN = 0.03;

/**
 * The one they scatter less in, and that comes closer to a round number: nobody runs 397 m eight times, nor 8 times
 * 88 seconds. Where speed is not what is steered (`byTimeOnly`), it is the time.
 */
export function commonLength(
  metres: readonly (number | null)[],
  seconds: readonly number[],
  byTimeOnly: boolean,
): CommonLength {
  const distances = metres.flatMap((value) => (value === null ? [] : [value]));
  const byDistance =
    !byTimeOnly && distances.length === seconds.length && fit(distances, ROUND_DISTANCES_M, 10);
  const byTime = fit(seconds, ROUND_DURATIONS_S, 5);
  if (byDistance && (!byTime || byDistance.error < byTime.error))
    return { distance_m: byDistance.value, duration_s: null };
  return { distance_m: null, duration_s: byTime ? byTime.value : null };
}

interface Fit {
  readonly value: number;
  readonly error: number;
}

function fit(values: readonly number[], round: readonly number[], grain: number): Fit | undefined {
  const usual = median(values);
  const scatter = spread(values);
  if (usual <= 0 || scatter > MOST_SPREAD) return undefined;
  const off = offRound(usual, round);
  if (off <= ROUND_WITHIN) return { value: nearestRound(usual, round), error: scatter + off };
  return { value: Math.max(grain, rounded(usual / grain, 0) * grain), error: scatter + 2 * ROUND_WITHIN };
}
