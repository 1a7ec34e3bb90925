import { type DetailedActivity } from '../wire/activity.js';

/** Bound by the worker app. */
export const STRAVA_EVENTS = Symbol('strava events');
export const STRAVA_ATHLETES = Symbol('strava athletes');

export interface Answered {
  readonly askedAt: Date;
  readonly detail: DetailedActivity;
}

/** What follows from Strava's events. Each may be told twice. */
export interface StravaEvents {
  activityChanged(
    athleteId: string,
    activityId: string,
    eventTime: Date,
    aspect: 'create' | 'update',
    /** Where it has been asked for already. */
    answered?: Answered,
  ): Promise<void>;
  /** Confirmed: Strava does not have it any more. */
  activityDeleted(athleteId: string, activityId: string, eventTime: Date): Promise<void>;
  /** Confirmed: Strava refuses the athlete's tokens. */
  deauthorized(athleteId: string): Promise<void>;
}

export interface StravaAthletes {
  /** Whose account at Strava this is; nobody's where it is not connected. */
  athleteOf(vendorAthleteId: string): Promise<{ readonly athleteId: string } | undefined>;
}
