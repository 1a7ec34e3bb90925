import { type Analysis } from '../find/analysis.js';
import { type Repetitions } from '../run-shape.js';
import { mean, median, rounded, spread } from '../signal/maths.js';
import { type Track } from '../signal/track.js';
import { type SportFamily } from '../sport.js';
import { factsOfStretch, type StretchFacts } from './stretch-facts.js';

/** Null for fewer than two hard parts. */
export function repetitionsOf(
  track: Track,
  { bouts, profile }: Analysis,
  family: SportFamily,
): Repetitions | null {
  if (bouts.length < 2) return null;
  const works = bouts.map(({ from, to }) => factsOfStretch(track, from, to));
  const rests = bouts.slice(1).map(({ from }, index) => factsOfStretch(track, bouts[index]!.to, from));
  const isByTime = family === 'ride' || profile === 'hills';
  const lengths = commonLength(
    works.map(({ metres }) => metres),
    works.map(({ fromS, toS }) => toS - fromS),
    isByTime,
  );
  const paces = known(works, ({ paceSPerKm }) => paceSPerKm);
  const watts = known(works, ({ watts: power }) => power);
  const measured = family === 'ride' ? watts : paces;
  return {
    count: bouts.length,
    ...lengths,
    average_pace_s_per_km: paces.length > 0 ? rounded(mean(paces), 1) : null,
    average_watts: watts.length > 0 ? rounded(mean(watts), 0) : null,
    spread_percent: measured.length > 1 ? rounded(100 * spread(measured), 1) : null,
    recovery_s: rounded(median(rests.map(({ fromS, toS }) => toS - fromS)), 0),
    recovery: isStanding(rests) ? 'standing' : 'active',
  };
}

function known(works: readonly StretchFacts[], valueOf: (work: StretchFacts) => number | null): number[] {
  return works.flatMap((work) => valueOf(work) ?? []);
}

function isStanding(rests: readonly StretchFacts[]): boolean {
  return median(rests.map(({ fromS, toS, movingS }) => movingS / Math.max(1, toS - fromS))) < 0.5;
}

/** The common distance or the common time of repetitions. The fields are null if distance and time vary, as on a ladder. */
interface CommonLength {
  readonly distance_m: number | null;
  readonly duration_s: number | null;
}

const MOST_SPREAD = 0.1;
const ROUND_WITHIN = 0.03;

/**
 * Chooses the distance or the time. The choice varies less and is closer to a round number, since runners plan neither
 * 8 × 397 m nor 8 × 88 s. With `byTimeOnly` (on a bike and uphill) only the time is considered.
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
  const off = roundError(usual, round);
  if (off <= ROUND_WITHIN) return { value: nearestRound(usual, round), error: scatter + off };
  return { value: Math.max(grain, rounded(usual / grain, 0) * grain), error: scatter + 2 * ROUND_WITHIN };
}

// Distances that runners and swimmers plan, a mile included.
export const ROUND_DISTANCES_M = [
  25, 50, 100, 150, 200, 250, 300, 400, 500, 600, 800, 1_000, 1_200, 1_500, 1_609, 1_600, 2_000, 2_400, 2_500,
  3_000, 4_000, 5_000, 6_000, 8_000, 10_000,
];

export const ROUND_DURATIONS_S = [
  15, 20, 30, 40, 45, 60, 75, 90, 120, 150, 180, 210, 240, 300, 360, 420, 480, 540, 600, 720, 900, 1_200,
  1_500, 1_800, 2_400, 2_700, 3_600,
];

export function nearestRound(value: number, round: readonly number[]): number {
  return round.reduce((best, candidate) =>
    Math.abs(candidate - value) < Math.abs(best - value) ? candidate : best,
  );
}

/** Difference from the nearest round value, as a share of `value`. */
export function roundError(value: number, round: readonly number[]): number {
  return value > 0 ? Math.abs(nearestRound(value, round) / value - 1) : 1;
}
