import { type Facts } from './facts.js';
import { isOnTrail } from './sport.js';

/** How hard an even run was. */
export interface Intensity {
  /** A multiple of easy running. */
  readonly value: number;
  /** Whose: this athlete's, or that of a runner nobody knows anything about. */
  readonly measuredBy: 'own' | 'anybody';
}

/** Undefined where nothing tells. */
export function intensityOf(facts: Facts, heartRate: number | null): Intensity | undefined {
  const bySpeed = speedRatio(facts);
  const byHeart = heartRatio(heartRate, facts.usual?.heartRate);
  // Each is wrong in its own way: pace on hills and in the wind, the heart in the heat and after coffee.
  if (bySpeed && byHeart) return { value: Math.sqrt(bySpeed * byHeart), measuredBy: 'own' };
  const own = bySpeed ?? byHeart;
  if (own) return { value: own, measuredBy: 'own' };
  const strangers = heartRatio(heartRate, EASY_OF_ANYBODY);
  return strangers ? { value: strangers, measuredBy: 'anybody' } : undefined;
}

function speedRatio({ sport_type, distance_m, moving_time_s, usual }: Facts): number | undefined {
  const own = isOnTrail(sport_type) ? usual?.trailSpeed : usual?.speed;
  if (!own || moving_time_s <= 0 || distance_m <= 0) return undefined;
  return distance_m / moving_time_s / own;
}

// Beats above rest grow with speed; nobody tells us theirs at rest, and runners' are within ten of this.
export const AT_REST = 50;
/** An easy run of somebody we know nothing about: 65 % of the way from 50 to 185. */
const EASY_OF_ANYBODY = 138;

function heartRatio(heartRate: number | null, easy: number | null | undefined): number | undefined {
  if (heartRate === null || !easy) return undefined;
  return Math.max(1, heartRate - AT_REST) / Math.max(1, easy - AT_REST);
}
