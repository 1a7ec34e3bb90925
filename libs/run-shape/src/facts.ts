import { median, weightedMedian } from './signal/maths.js';
import { familyOf, isOnTrail } from './sport.js';

/** The activity's row. It exists even if there is no recording. */
export interface ShapeFacts {
  readonly sport_type: string;
  readonly distance_m: number;
  readonly moving_time_s: number;
  readonly elapsed_time_s: number;
  readonly elevation_gain_m: number;
  /** This athlete's usual values. Without usual values the intensity comes from the heart rate alone and is less certain. */
  readonly usual?: Usual;
}

/** An athlete's usual values, from `usualOf`. A value is null if there are too few runs. */
interface Usual {
  readonly speed: number | null;
  readonly trailSpeed: number | null;
  readonly heartRate: number | null;
  readonly movingTimeS: number | null;
}

/** The row of an earlier activity of the athlete. */
export interface EarlierActivity {
  readonly sport_type: string;
  readonly distance_m: number;
  readonly moving_time_s: number;
  readonly average_heartrate: number | null;
}

// Fewer runs may all be races, or all be slow after an injury.
const FEWEST = 6;
const SHORTEST_S = 10 * 60;

/**
 * The athlete's usual values are medians over earlier runs. The medians of speed and heart rate are weighted by moving time.
 * Good runners run four fifths of the time at an easy pace, so the median minute is easy. Races and repetitions do not move it.
 */
export function usualOf(earlier: readonly EarlierActivity[]): Usual {
  const runs = earlier.filter(
    ({ sport_type, distance_m, moving_time_s }) =>
      familyOf(sport_type) === 'run' && distance_m > 0 && moving_time_s >= SHORTEST_S,
  );
  const onRoad = runs.filter(({ sport_type }) => !isOnTrail(sport_type));
  const onTrail = runs.filter(({ sport_type }) => isOnTrail(sport_type));
  return {
    speed: usualValue(onRoad, speedOf),
    trailSpeed: usualValue(onTrail, speedOf),
    heartRate: usualValue(runs, ({ average_heartrate }) => average_heartrate),
    movingTimeS: runs.length < FEWEST ? null : median(runs.map(({ moving_time_s }) => moving_time_s)),
  };
}

function speedOf({ distance_m, moving_time_s }: EarlierActivity): number {
  return distance_m / moving_time_s;
}

function usualValue(
  runs: readonly EarlierActivity[],
  valueOf: (run: EarlierActivity) => number | null,
): number | null {
  const values = runs.flatMap((run) => {
    const value = valueOf(run);
    return value === null ? [] : [{ value, weight: run.moving_time_s }];
  });
  return values.length < FEWEST ? null : weightedMedian(values);
}
