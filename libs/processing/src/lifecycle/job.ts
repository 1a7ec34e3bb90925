import { type Origin } from '#platform';

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

/** A request to process activities of one athlete. */
export interface JobRequest {
  readonly athleteId: string;
  readonly activityIds: readonly string[];
  readonly kind: RequestKind;
  readonly requestedBy: string;
  /** True: also process activities that have been processed already. */
  readonly force?: boolean;
  /** A job with a higher priority runs sooner. By default requests of people run before automatic requests. */
  readonly priority?: number;
  /** The HTTP request that asks. Absent for automatic jobs. */
  readonly origin?: Origin;
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
  /** The input that the processor waits for; set only in `retry_wait`. */
  readonly waits_for: string | null;
}

/** The outcome of a request for one activity. A request for an activity of another athlete has no outcome. */
export type Enqueued =
  | { readonly kind: 'queued'; readonly job: Job }
  /** The activity already has an unfinished job. */
  | { readonly kind: 'joined'; readonly job: Job }
  | { readonly kind: 'already_processed'; readonly activityId: string };

interface RunView {
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

/** The state of an activity. Before its first job all fields except `activity_id` are null. `result` is the latest result of a run. */
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
  /** The input that the processor waits for, in the processor's words: `streams`. */
  readonly waits_for: string | null;
  /** Latest time of the next attempt of a job in `retry_wait`. */
  readonly next_attempt_at: Date | null;
  readonly result: unknown;
}
