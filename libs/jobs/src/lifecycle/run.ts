import { type RequestKind } from './job.js';

/** The right to one attempt, and the fence of all that is written under it. */
export interface Claim {
  readonly job_id: string;
  readonly run_id: string;
  readonly activity_id: string;
}

/** A run that has begun. */
export interface Run extends Claim {
  readonly request_kind: RequestKind;
  /** This one included. */
  readonly attempt_count: number;
  readonly force_update: boolean;
  /** By an earlier job. */
  readonly is_processed: boolean;
}

export type Ending =
  | { readonly kind: 'succeeded'; readonly output: StoredOutput }
  /** Again after a while, where attempts are left. */
  | { readonly kind: 'retry'; readonly error: string; readonly afterMs: number }
  | { readonly kind: 'failed'; readonly error: string };

/** What a processor found, as it is stored. */
export interface StoredOutput {
  readonly profileId: string | null;
  readonly title: string | null;
  readonly descriptionHash: string | null;
  readonly resultJson: string;
}

export interface EndedRun {
  readonly claim: Claim;
  readonly ending: Ending;
}

/** What the sweep took back. */
export interface Expired {
  readonly job_id: string;
  readonly activity_id: string;
  readonly status: 'queued' | 'failed_permanent';
  readonly attempt_count: number;
}
