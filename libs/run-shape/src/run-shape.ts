/** The kinds of a session. docs/run-shape.md has the rules. */
export const PROFILES = [
  'easy',
  'recovery',
  'steady',
  'tempo',
  'progression',
  'intervals',
  'hills',
  'long',
  'race-like',
  'ride',
  'swim',
  'walk',
  'hike',
  'strength',
  'other',
  'unrecorded',
] as const;

export type Profile = (typeof PROFILES)[number];

export type SegmentKind = 'warmup' | 'work' | 'recovery' | 'climb' | 'steady' | 'cooldown';

/** Segments follow one another without gaps, from the first sample to the last. Pauses are inside the segments. */
export interface Segment {
  readonly kind: SegmentKind;
  /** Seconds since the first sample. */
  readonly from_s: number;
  readonly to_s: number;
  readonly moving_s: number;
  readonly distance_m: number | null;
  readonly average_pace_s_per_km: number | null;
  readonly average_heartrate: number | null;
  readonly average_watts: number | null;
  /** 1 for the first repetition. A recovery has the number of the previous repetition. */
  readonly repetition: number | null;
}

export interface Repetitions {
  readonly count: number;
  /** The common distance of the repetitions, otherwise null. A distance close to a round number is rounded to that number. */
  readonly distance_m: number | null;
  /** The common time of the repetitions, otherwise null. On a ladder, `distance_m` and `duration_s` are null. */
  readonly duration_s: number | null;
  readonly average_pace_s_per_km: number | null;
  readonly average_watts: number | null;
  /** Standard deviation of the repetitions' pace, or power on a bike, in percent of the mean. */
  readonly spread_percent: number | null;
  readonly recovery_s: number | null;
  readonly recovery: 'active' | 'standing' | null;
}

/** A climb of 20 m or more at 3 % or more. A climb may lie in any segment, or in several. */
export interface ClimbPart {
  readonly from_s: number;
  readonly to_s: number;
  readonly gain_m: number;
  readonly distance_m: number;
  readonly grade_percent: number;
}

export interface RunShape {
  /** Version of the rules. The same version makes the same shape from the same input. */
  readonly version: number;
  readonly profile: Profile;
  readonly title: string;
  readonly description: string;
  readonly segments: readonly Segment[];
  readonly repetitions: Repetitions | null;
  readonly climbs: readonly ClimbPart[];
  /** Rise of the heart rate for the same effort from the first to the second half. */
  readonly heart_rate_drift_percent: number | null;
  /** SHA-256 over all other fields. */
  readonly hash: string;
}
