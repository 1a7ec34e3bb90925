import { type Sql } from '#platform';
import { type RequestKind } from './job.js';

/** The right to one attempt. `run_id` is the fence: after another claim of the job, a write with this `run_id` is rejected. */
export interface RunClaim {
  readonly athlete_id: string;
  readonly job_id: string;
  readonly run_id: string;
  readonly activity_id: string;
}

/** A run that has begun. */
export interface Run extends RunClaim {
  readonly request_kind: RequestKind;
  /** Attempts so far, this one included. */
  readonly attempt_count: number;
  readonly force_update: boolean;
  /** An earlier job has processed the activity in its present revision. */
  readonly is_processed: boolean;
  /** The HTTP request that asked for the job, and its span; null for automatic jobs. */
  readonly request_id: string | null;
  readonly traceparent: string | null;
}

export type RunOutcome =
  | { readonly kind: 'succeeded'; readonly output: StoredOutput }
  /** Tried again after `afterMs` if attempts are left. */
  | { readonly kind: 'retry'; readonly error: string; readonly afterMs: number }
  | { readonly kind: 'failed'; readonly error: string }
  /** An input is missing: the same attempt is repeated after `afterMs`, or earlier if the input is stored. */
  | { readonly kind: 'waiting'; readonly waitsFor: string; readonly afterMs: number };

/** A processor's output as it is stored. */
export interface StoredOutput {
  readonly profileId: string | null;
  readonly title: string | null;
  readonly descriptionHash: string | null;
  readonly resultJson: string;
}

export interface EndedRun {
  readonly claim: RunClaim;
  readonly outcome: RunOutcome;
}

/** A job that the sweep took back because its lease had expired. */
export interface ExpiredJob {
  readonly job_id: string;
  readonly activity_id: string;
  readonly status: 'queued' | 'failed_permanent';
  readonly attempt_count: number;
}

export type RunKey = Pick<RunClaim, 'athlete_id' | 'run_id'>;

/** Writes further rows when runs succeed. The rows and the ends of the runs are written in one transaction. */
export interface RunListener {
  /** False: `succeeded` is not called, and the runs end without a transaction of their own. */
  readonly isOn: boolean;
  succeeded(sql: Sql, runs: readonly RunKey[]): Promise<void>;
}
