import { type DetailedActivity } from '../wire/activity.js';

/** Bound by the worker app. */
export const STRAVA_EVENTS = Symbol('strava events');
export const STRAVA_ATHLETES = Symbol('strava athletes');

/** Whose account at Strava it is, as it stood before Strava was asked: what has begun since is not meant by the answer. */
export interface Owner {
  readonly athleteId: string;
  readonly generation: number;
  /** Of the connection. */
  readonly connectedAt: string;
}

export interface Answered {
  readonly askedAt: Date;
  readonly detail: DetailedActivity;
}

/** What follows from Strava's events. Each may be told twice. */
export interface StravaEvents {
  activityChanged(
    owner: Owner,
    activityId: string,
    eventTime: Date,
    aspect: 'create' | 'update',
    /** Where it has been asked for already. */
    answered?: Answered,
  ): Promise<void>;
  /** Confirmed: Strava does not have it any more. */
  activityDeleted(owner: Owner, activityId: string, eventTime: Date): Promise<void>;
  /** Confirmed: Strava refuses the athlete's tokens. False where they have connected again since. */
  deauthorized(owner: Owner): Promise<boolean>;
}

export interface StravaAthletes {
  /** Nobody where that account is not connected. */
  athleteOf(vendorAthleteId: string): Promise<Owner | undefined>;
}
