/** What the activity's row says, whether or not anything was recorded. */
export interface Facts {
  readonly sport_type: string;
  readonly distance_m: number;
  readonly moving_time_s: number;
  readonly elapsed_time_s: number;
  readonly elevation_gain_m: number;
  /** How this athlete usually runs; without it intensity is judged by the heart alone, and more roughly. */
  readonly usual?: Usual;
}

/** What is usual for an athlete; see `usualOf`. */
export interface Usual {
  readonly speed: number | null;
  readonly trailSpeed: number | null;
  readonly heartRate: number | null;
  readonly movingTimeS: number | null;
}
