// What people run on purpose. A mile is one, too.
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

/** How far a value is from a round one, as a share of it. */
export function offRound(value: number, round: readonly number[]): number {
  return value > 0 ? Math.abs(nearestRound(value, round) / value - 1) : 1;
}
