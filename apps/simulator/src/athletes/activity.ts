import { type AthleteProfile } from './athlete-profile.js';
import { type Place } from './places.js';
import { type Session } from './sessions.js';
import { type SportType } from './sport-type.js';
import { type StreamKey } from './stream-keys.js';

/**
 * One activity as the generator keeps it: who, when, where and which session.
 * Segments, totals, streams and documents follow from it and are derived on demand.
 */
export interface Activity {
  /** Decimal digits: Strava's ids pass 2^53. */
  readonly id: string;
  readonly seed: number;
  readonly athlete: AthleteProfile;
  readonly place: Place;
  readonly startMs: number;
  readonly sport: SportType;
  readonly session: Session;
  /** Stretches the open-ended blocks of the session: 1 is the catalogue's length. */
  readonly amount: number;
  /** Fitness of the day relative to the athlete's profile: 1 is the profile's threshold. */
  readonly form: number;
  readonly manual: boolean;
  /** Treadmill, trainer, pool: no GPS. */
  readonly indoor: boolean;
  readonly commute: boolean;
  /** Only set on activities made to order; otherwise the seed decides. */
  readonly wishes?: ActivityWishes;
  /** What the athlete edited afterwards. */
  readonly overrides?: ActivityOverrides;
}

export interface ActivityWishes {
  readonly missingChannels?: readonly StreamKey[];
  readonly stops?: readonly WishedStop[];
  readonly photos?: number;
  readonly heartRateDriftPercent?: number;
}

export interface WishedStop {
  /** Moving seconds into the activity at which the athlete stops. */
  readonly afterMovingS: number;
  readonly seconds: number;
  /** True: the watch is paused and `time` has a gap. False: it records velocity 0. */
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
  /** The documents then say 00:00:01 of the local day. */
  readonly hide_start_time?: boolean;
}

/** The same activity after an edit; earlier edits of other fields stay. */
export function withOverrides(activity: Activity, changes: ActivityOverrides): Activity {
  return { ...activity, overrides: { ...activity.overrides, ...changes } };
}
