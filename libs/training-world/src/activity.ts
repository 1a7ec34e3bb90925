import { type AthleteProfile } from './athlete-profile.js';
import { type Place } from './places.js';
import { type Session } from './sessions.js';
import { type SportType, type StravaSport } from './sport-type.js';
import { type StreamKey } from './stream-keys.js';

/**
 * One activity of the generator, with athlete, start, place and session. Segments, totals, streams and documents are derived
 * from the activity on demand.
 */
export interface Activity {
  /** Decimal digits, because Strava's ids may exceed 2^53. */
  readonly id: string;
  readonly seed: number;
  readonly athlete: AthleteProfile;
  readonly place: Place;
  readonly startMs: number;
  readonly sport: SportType;
  /** Strava's name of the sport; set only if the generator models the sport as another sport. */
  readonly namedSport?: StravaSport;
  readonly session: Session;
  /** Factor on the length of the session's `open` blocks. 1 is the length in `SESSIONS`. */
  readonly amount: number;
  /** Fitness of the day. 1 is the threshold in the athlete's profile. */
  readonly form: number;
  readonly manual: boolean;
  /** True on a treadmill, on a trainer or in a pool. The activity then has no GPS. */
  readonly indoor: boolean;
  readonly commute: boolean;
  /** Set only on activities that are made to order. For other activities the seed decides. */
  readonly wishes?: ActivityWishes;
  /** Later edits of the athlete. */
  readonly overrides?: ActivityOverrides;
}

interface ActivityWishes {
  readonly missingChannels?: readonly StreamKey[];
  readonly stops?: readonly RequestedStop[];
  readonly photos?: number;
  readonly heartRateDriftPercent?: number;
}

export interface RequestedStop {
  /** The athlete stops after this many seconds in motion. */
  readonly afterMovingS: number;
  readonly seconds: number;
  /** True: the watch is paused and `time` has a gap. False: the watch records velocity 0. */
  readonly paused: boolean;
}

export interface ActivityOverrides {
  readonly name?: string;
  readonly description?: string | null;
  readonly sport_type?: string;
  readonly private?: boolean;
  readonly visibility?: 'everyone' | 'followers_only' | 'only_me';
  readonly commute?: boolean;
  readonly trainer?: boolean;
  readonly hide_from_home?: boolean;
  readonly gear_id?: string | null;
  readonly flagged?: boolean;
  /** If true, the documents show 00:00:01 of the local day as the start. */
  readonly hide_start_time?: boolean;
}

/** The same activity after an edit. Earlier edits of other fields stay. */
export function withOverrides(activity: Activity, changes: ActivityOverrides): Activity {
  return { ...activity, overrides: { ...activity.overrides, ...changes, ...privacyOf(changes) } };
}

/** `private` and `visibility` mean the same, so an edit of one field also changes the other. */
function privacyOf({ private: isPrivate, visibility }: ActivityOverrides): ActivityOverrides {
  if (visibility !== undefined) return { private: visibility === 'only_me' };
  return isPrivate === undefined ? {} : { visibility: isPrivate ? 'only_me' : 'everyone' };
}
