export const FETCH_STATUSES = [
  'pending',
  'fetching',
  'success',
  'failed',
  'deferred',
  'unavailable',
] as const;
export type FetchStatus = (typeof FETCH_STATUSES)[number];

/** Where an activity's streams stand, for those who look after the service. */
export interface FetchState {
  readonly activity_id: string;
  readonly athlete_id: string;
  readonly status: FetchStatus;
  readonly error: string | null;
  readonly retry_count: number;
  readonly attempted_at: Date | null;
  readonly deferred_until: Date | null;
}

/** The right to write how one attempt ended. */
export interface Claim {
  readonly id: string;
  readonly fence: string;
  readonly retry_count: number;
  readonly empty_count: number;
  /** It ended so recently that its streams may still come. */
  readonly is_fresh: boolean;
}
