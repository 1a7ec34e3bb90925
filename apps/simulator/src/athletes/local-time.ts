import { type Activity } from './activity.js';
import { isoSeconds } from './iso-time.js';
import { offsetMinutesAt } from './time-zones.js';

/** The wall clock at the start, as milliseconds of a false UTC. */
export function localStartMs(activity: Activity): number {
  return activity.startMs + utcOffsetS(activity) * 1000;
}

export function utcOffsetS(activity: Activity): number {
  return offsetMinutesAt(activity.place.timeZone, activity.startMs) * 60;
}

/** Strava writes local times with a `Z` that is not true. */
export function localIso(activity: Activity, afterStartS = 0): string {
  return isoSeconds(localStartMs(activity) + afterStartS * 1000);
}
