export const JOB_STATUSES = [
  'queued',
  'claimed',
  'running',
  'retry_wait',
  'succeeded',
  'failed_permanent',
  'cancelled',
] as const;
export type JobStatus = (typeof JOB_STATUSES)[number];
export type RunStatus = Exclude<JobStatus, 'queued' | 'claimed'>;
export type RequestKind = 'auto_poll' | 'manual_latest' | 'manual_activity';

/** A wish to have activities of one athlete processed. */
export interface JobRequest {
  readonly athleteId: string;
  readonly activityIds: readonly string[];
  readonly kind: RequestKind;
  readonly requestedBy: string;
  /** Also what has been processed already. */
  readonly force?: boolean;
  /** The higher, the sooner; by default people go before machines. */
  readonly priority?: number;
}

export interface Job {
  readonly job_id: string;
  readonly activity_id: string;
  readonly request_kind: RequestKind;
  readonly force_update: boolean;
  readonly status: JobStatus;
  readonly attempt_count: number;
  readonly max_attempts: number;
  readonly last_error: string | null;
}

/** What became of the wish for one activity. Those that are not the athlete's are left out. */
export type Enqueued =
  | { readonly kind: 'queued'; readonly job: Job }
  /** There is one that has not ended. */
  | { readonly kind: 'joined'; readonly job: Job }
  | { readonly kind: 'already_processed'; readonly activityId: string };

export interface RunView {
  readonly run_id: string;
  readonly attempt_number: number;
  readonly status: RunStatus;
  readonly started_at: string;
  readonly finished_at: string | null;
  readonly error: string | null;
}

export interface JobWithRuns extends Job {
  readonly runs: readonly RunView[];
}

/** Where an activity stands; all is null where no job has ever been made for it. `result` is that of the last run that had one. */
export interface ActivityState {
  readonly activity_id: string;
  readonly state: JobStatus | null;
  readonly last_job_id: string | null;
  readonly last_run_id: string | null;
  readonly last_profile_id: string | null;
  readonly last_title: string | null;
  readonly last_description_hash: string | null;
  readonly last_result_status: JobStatus | null;
  readonly last_error: string | null;
  readonly updated_at: Date | null;
  readonly result: unknown;
}
