import { type Activity } from './activity.js';
import { isoSeconds } from './iso-time.js';
import { offsetMinutesAt } from './time-zones.js';

const DAY_MS = 86_400_000;

/** The wall clock at the start, as milliseconds of a false UTC. */
export function localStartMs(activity: Activity): number {
  return activity.startMs + utcOffsetS(activity) * 1000;
}

export function utcOffsetS(activity: Activity): number {
  return offsetMinutesAt(activity.place.timeZone, activity.startMs) * 60;
}

/** What the documents call the start, in true UTC: athletes may hide the time of day. */
export function shownStartMs(activity: Activity): number {
  if (!activity.overrides?.hide_start_time) return activity.startMs;
  const midnightMs = Math.floor(localStartMs(activity) / DAY_MS) * DAY_MS;
  return midnightMs + 1000 - utcOffsetS(activity) * 1000;
}

/** Strava writes local times with a `Z` that is not true. */
export function localIso(activity: Activity, afterStartS = 0): string {
  return isoSeconds(shownStartMs(activity) + (utcOffsetS(activity) + afterStartS) * 1000);
}
