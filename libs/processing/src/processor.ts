import { type RequestKind } from './lifecycle/job.js';

export interface ProcessingRequest {
  readonly activityId: string;
  readonly jobId: string;
  readonly runId: string;
  readonly kind: RequestKind;
  /** Counted from 1. */
  readonly attempt: number;
  readonly force: boolean;
}

export interface ProcessorOutput {
  /** The kind of activity, as the processor names it. */
  readonly profileId?: string | null;
  readonly title?: string | null;
  /** Identifies the description that the processor made, so that a later change by the athlete is noticed. */
  readonly descriptionHash?: string | null;
  /** The whole result, as plain JSON of 256 KB at most. */
  readonly result: Readonly<Record<string, unknown>>;
}

/** The processor waits for an input that is on its way. The wait costs no attempt. */
export interface ProcessorNotNow {
  readonly notNow: {
    /** Shown as `waits_for` in the job and in the activity's state, for example `streams`. */
    readonly waitsFor: string;
    /** Latest time of the next try; the job is tried earlier if the activity's inputs change. */
    readonly retryAfterMs: number;
  };
}

/**
 * Processes one activity: reads its inputs and returns the output. The runtime stores the output and the end of the run together,
 * or neither of them.
 *
 * - The same activity must give the same output: a run may be repeated, and may overlap with an earlier run that lost its lease.
 * - After a thrown error the job is tried again later, three attempts in all. After a `CannotBeProcessed` it is not tried again.
 *   After `{ notNow }` the job waits without using an attempt.
 * - When `signal` aborts, the run has ended (cancelled, taken over, too long, or the process stops) and its output is dropped. The
 *   processor should stop then, since the runtime cannot stop it.
 * - Long synchronous work keeps this process from renewing its leases. Pause during such work, or do the work in a worker thread.
 */
export interface Processor {
  readonly name: string;
  process(request: ProcessingRequest, signal: AbortSignal): Promise<ProcessorOutput | ProcessorNotNow>;
}

/** The activity cannot be processed: the job fails for good, without another try. */
export class CannotBeProcessed extends Error {
  override readonly name = 'CannotBeProcessed';
}
