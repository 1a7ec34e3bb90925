import { type Facts } from '../facts.js';
import { type Intensity } from '../intensity.js';
import { type Profile } from '../run-shape.js';

// Half-way (by ratio) between easy running at 1 and what coaches call recovery (some 15 % easier) and steady (some 13 %
// harder).
// Hearts of strangers differ by as much as that, so only what is far out is called anything but easy.
const BANDS = {
  own: { recoveryBelow: 0.92, steadyFrom: 1.06 },
  anybody: { recoveryBelow: 0.8, steadyFrom: 1.15 },
} as const;
const LONG_FROM_S = 75 * 60;
const LONG_TO_USUAL = 1.5;
const LONG_AT_LEAST_S = 60 * 60;
// Who races an hour runs it some 30 % faster than easy, and 4 % slower for each doubling of the time (Riegel).
const RACED_HOUR = 1.3;
const RIEGEL = -0.06;
const RACE_SHARE = 0.92;
const RACE_SHARE_AT_A_DISTANCE = 0.89;
const RACE_DISTANCES_M = [5_000, 10_000, 15_000, 16_093, 21_098, 42_195];
// Courses are never short, and watches measure them long.
const SHORT_BY = 0.005;
const LONG_BY = 0.02;
const SHORTEST_RACE_S = 12 * 60;
const MOST_STANDING = 0.02;

/** An even run by how hard and how long it was. */
export function evenRunProfile(facts: Facts, intensity: Intensity | undefined): Profile {
  const isLong = isLongRun(facts);
  if (intensity === undefined) return isLong ? 'long' : 'easy';
  if (isRaceLike(facts, intensity)) return 'race-like';
  if (isLong) return 'long';
  const { recoveryBelow, steadyFrom } = BANDS[intensity.measuredBy];
  if (intensity.value < recoveryBelow) return 'recovery';
  return intensity.value >= steadyFrom ? 'steady' : 'easy';
}

/** Long by the clock, or for this athlete. */
function isLongRun({ moving_time_s, usual }: Facts): boolean {
  if (moving_time_s >= LONG_FROM_S) return true;
  const own = usual?.movingTimeS;
  return !!own && moving_time_s >= LONG_AT_LEAST_S && moving_time_s >= LONG_TO_USUAL * own;
}

/** As fast as this athlete could be expected to race for that long, without a stop. */
function isRaceLike(facts: Facts, { value, measuredBy }: Intensity): boolean {
  const { moving_time_s, elapsed_time_s } = facts;
  const isAtDistance = raceDistance(facts) !== undefined;
  if (measuredBy === 'anybody' && !isAtDistance) return false;
  if (moving_time_s < SHORTEST_RACE_S) return false;
  if (elapsed_time_s - moving_time_s > MOST_STANDING * elapsed_time_s) return false;
  const raced = RACED_HOUR * Math.pow(moving_time_s / 3_600, RIEGEL);
  return value >= raced * (isAtDistance ? RACE_SHARE_AT_A_DISTANCE : RACE_SHARE);
}

export function raceDistance({ distance_m }: Facts): number | undefined {
  return RACE_DISTANCES_M.find(
    (length) => distance_m >= length * (1 - SHORT_BY) && distance_m <= length * (1 + LONG_BY),
  );
}
