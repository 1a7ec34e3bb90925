/** What a session was. docs/run-shape.md says how each is told from the others. */
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

/** Segments follow one another without gaps, from the first sample to the last. Pauses are inside them. */
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
  /** 1 for the first; a recovery carries the number of the repetition before it. */
  readonly repetition: number | null;
}

export interface Repetitions {
  readonly count: number;
  /** Whichever of the two they have in common, as a round number where they are that close; both null on a ladder. */
  readonly distance_m: number | null;
  readonly duration_s: number | null;
  readonly average_pace_s_per_km: number | null;
  readonly average_watts: number | null;
  /** Standard deviation of their pace (or power), in percent of it. */
  readonly spread_percent: number | null;
  readonly recovery_s: number | null;
  readonly recovery: 'active' | 'standing' | null;
}

/** A way up that was worth a mention; it may lie in any segment. */
export interface ClimbPart {
  readonly from_s: number;
  readonly to_s: number;
  readonly gain_m: number;
  readonly distance_m: number;
  readonly grade_percent: number;
}

export interface RunShape {
  /** Of the rules: the same recording has the same shape as long as it stays. */
  readonly version: number;
  readonly profile: Profile;
  readonly title: string;
  readonly description: string;
  readonly segments: readonly Segment[];
  readonly repetitions: Repetitions | null;
  readonly climbs: readonly ClimbPart[];
  /** How much higher the heart beats for the same effort in the second half. */
  readonly heart_rate_drift_percent: number | null;
  /** Of everything above. */
  readonly hash: string;
}
