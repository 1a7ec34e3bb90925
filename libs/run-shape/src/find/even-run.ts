import { type ShapeFacts } from '../facts.js';
import { type Profile } from '../run-shape.js';
import { isOnTrail } from '../sport.js';

// Recovery is about 15 % easier than easy running, and steady is 13 % harder. The limits of `own` are half-way, by ratio.
// The heart rates of two people differ by as much, so the limits of `general` are wider.
const BANDS = {
  own: { recoveryBelow: 0.92, steadyFrom: 1.06 },
  general: { recoveryBelow: 0.8, steadyFrom: 1.15 },
} as const;
const LONG_FROM_S = 75 * 60;
const LONG_TO_USUAL = 1.5;
const LONG_AT_LEAST_S = 60 * 60;
// A race of an hour is about 30 % faster than easy running. A race of twice the time is 4 % slower (Riegel).
const RACED_HOUR = 1.3;
const RIEGEL = -0.06;
const RACE_SHARE = 0.92;
const RACE_SHARE_AT_A_DISTANCE = 0.89;
const RACE_DISTANCES_M = [5_000, 10_000, 15_000, 16_093, 21_098, 42_195];
// A course is not shorter than the race distance. A watch often measures more than the race distance.
const SHORT_BY = 0.005;
const LONG_BY = 0.02;
const SHORTEST_RACE_S = 12 * 60;
const MOST_STANDING = 0.02;

/** The profile of an even run, by its intensity and duration. */
export function evenRunProfile(facts: ShapeFacts, intensity: Intensity | undefined): Profile {
  const isLong = isLongRun(facts);
  if (intensity === undefined) return isLong ? 'long' : 'easy';
  if (isRaceLike(facts, intensity)) return 'race-like';
  if (isLong) return 'long';
  const { recoveryBelow, steadyFrom } = BANDS[intensity.measuredBy];
  if (intensity.value < recoveryBelow) return 'recovery';
  return intensity.value >= steadyFrom ? 'steady' : 'easy';
}

/** True from 75 minutes on. Also true from 60 minutes on if the time is at least 1.5 times this athlete's median. */
function isLongRun({ moving_time_s, usual }: ShapeFacts): boolean {
  if (moving_time_s >= LONG_FROM_S) return true;
  const own = usual?.movingTimeS;
  return !!own && moving_time_s >= LONG_AT_LEAST_S && moving_time_s >= LONG_TO_USUAL * own;
}

/** True if the run has no long stops and its intensity is close to a race of the same duration. */
function isRaceLike(facts: ShapeFacts, { value, measuredBy }: Intensity): boolean {
  const { moving_time_s, elapsed_time_s } = facts;
  const isAtDistance = raceDistance(facts) !== undefined;
  if (measuredBy === 'general' && !isAtDistance) return false;
  if (moving_time_s < SHORTEST_RACE_S) return false;
  if (elapsed_time_s - moving_time_s > MOST_STANDING * elapsed_time_s) return false;
  const raced = RACED_HOUR * Math.pow(moving_time_s / 3_600, RIEGEL);
  return value >= raced * (isAtDistance ? RACE_SHARE_AT_A_DISTANCE : RACE_SHARE);
}

export function raceDistance({ distance_m }: ShapeFacts): number | undefined {
  return RACE_DISTANCES_M.find(
    (length) => distance_m >= length * (1 - SHORT_BY) && distance_m <= length * (1 + LONG_BY),
  );
}

/** The intensity of an even run. */
interface Intensity {
  /** As a multiple of easy running. */
  readonly value: number;
  /** `own`: compared with this athlete's usual values. `general`: compared with a general heart rate. */
  readonly measuredBy: 'own' | 'general';
}

/** Undefined if neither speed nor heart rate is known. */
export function intensityOf(facts: ShapeFacts, heartRate: number | null): Intensity | undefined {
  const bySpeed = speedRatio(facts);
  const byHeart = heartRatio(heartRate, facts.usual?.heartRate);
  // Pace misleads on hills and in wind. Heart rate misleads in heat and after coffee. The mean of the two is more reliable.
  if (bySpeed && byHeart) return { value: Math.sqrt(bySpeed * byHeart), measuredBy: 'own' };
  const own = bySpeed ?? byHeart;
  if (own) return { value: own, measuredBy: 'own' };
  const general = heartRatio(heartRate, EASY_HEART_RATE);
  return general ? { value: general, measuredBy: 'general' } : undefined;
}

function speedRatio({ sport_type, distance_m, moving_time_s, usual }: ShapeFacts): number | undefined {
  const own = isOnTrail(sport_type) ? usual?.trailSpeed : usual?.speed;
  if (!own || moving_time_s <= 0 || distance_m <= 0) return undefined;
  return distance_m / moving_time_s / own;
}

// The heart rate above rest grows with speed. The heart rate at rest is unknown; for most runners it is 40 to 60.
export const AT_REST = 50;
/** Used if the athlete's heart rate in an easy run is unknown. It is 65 % of the way from 50 to 185. */
const EASY_HEART_RATE = 138;

function heartRatio(heartRate: number | null, easy: number | null | undefined): number | undefined {
  if (heartRate === null || !easy) return undefined;
  return Math.max(1, heartRate - AT_REST) / Math.max(1, easy - AT_REST);
}
