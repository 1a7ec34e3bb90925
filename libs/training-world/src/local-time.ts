import { type Activity } from './activity.js';
import { isoSeconds } from './iso-time.js';
import { offsetMinutesAt } from './time-zones.js';

const DAY_MS = 86_400_000;

/** Local time of the start, as epoch milliseconds of a clock that takes the local time for UTC. */
export function localStartMs(activity: Activity): number {
  return activity.startMs + utcOffsetS(activity) * 1000;
}

export function utcOffsetS(activity: Activity): number {
  return offsetMinutesAt(activity.place.timeZone, activity.startMs) * 60;
}

/** The start that documents show, in real UTC. If the athlete hides the time, it is 00:00:01 of the local day. */
export function shownStartMs(activity: Activity): number {
  if (!activity.overrides?.hide_start_time) return activity.startMs;
  const midnightMs = Math.floor(localStartMs(activity) / DAY_MS) * DAY_MS;
  return midnightMs + 1000 - utcOffsetS(activity) * 1000;
}

/** Strava writes local times with a `Z`, although they are not UTC. */
export function stravaLocalIso(activity: Activity, afterStartS = 0): string {
  return isoSeconds(shownStartMs(activity) + (utcOffsetS(activity) + afterStartS) * 1000);
}
