import { type Usual } from './facts.js';
import { median, weightedMedian } from './signal/statistics.js';
import { familyOf, isOnTrail } from './sport.js';

/** An earlier activity's row. */
export interface EarlierActivity {
  readonly sport_type: string;
  readonly distance_m: number;
  readonly moving_time_s: number;
  readonly average_heartrate: number | null;
}

// Fewer could all be races or all be injured.
const FEWEST = 6;
const SHORTEST_S = 10 * 60;

/**
 * The middle of the minutes an athlete ran lately. Most running is easy (four fifths of it, in every study of those who
 * run well), so the middle minute is an easy one and measures all others; races and repetitions do not move it.
 */
export function usualOf(earlier: readonly EarlierActivity[]): Usual {
  const runs = earlier.filter(
    ({ sport_type, distance_m, moving_time_s }) =>
      familyOf(sport_type) === 'run' && distance_m > 0 && moving_time_s >= SHORTEST_S,
  );
  const onRoad = runs.filter(({ sport_type }) => !isOnTrail(sport_type));
  const onTrail = runs.filter(({ sport_type }) => isOnTrail(sport_type));
  return {
    speed: middle(onRoad, speedOf),
    trailSpeed: middle(onTrail, speedOf),
    heartRate: middle(runs, ({ average_heartrate }) => average_heartrate),
    movingTimeS: runs.length < FEWEST ? null : median(runs.map(({ moving_time_s }) => moving_time_s)),
  };
}

function speedOf({ distance_m, moving_time_s }: EarlierActivity): number {
  return distance_m / moving_time_s;
}

function middle(
  runs: readonly EarlierActivity[],
  valueOf: (run: EarlierActivity) => number | null,
): number | null {
  const values = runs.flatMap((run) => {
    const value = valueOf(run);
    return value === null ? [] : [{ value, weight: run.moving_time_s }];
  });
  return values.length < FEWEST ? null : weightedMedian(values);
}
