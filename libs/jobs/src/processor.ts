import { type RequestKind } from './lifecycle/job.js';

export const PROCESSOR = Symbol('processor');

export interface ProcessingRequest {
  readonly activityId: string;
  readonly jobId: string;
  readonly runId: string;
  readonly kind: RequestKind;
  /** 1 for the first. */
  readonly attempt: number;
  readonly force: boolean;
}

export interface ProcessorOutput {
  /** What kind of activity it turned out to be, in the processor's words. */
  readonly profileId?: string | null;
  readonly title?: string | null;
  /** Tells whether a description is still the one that was made here. */
  readonly descriptionHash?: string | null;
  /** All that was found, as plain JSON of 256 KB at most. */
  readonly result: Readonly<Record<string, unknown>>;
}

/**
 * What is done with an activity. It reads what it needs and answers what it found; the runtime stores that, together with the
 * end of the run, or not at all.
 *
 * - The same activity gives the same output: a run may be repeated, and two may even be under way while a lost one ends.
 * - What it throws is tried again after a while; a `CannotBeProcessed` is not.
 * - When `signal` aborts, the run is over (cancelled, taken over, too long, or the process stops) and nothing it answers counts. It
 *   should end then: nobody can end it from outside.
 * - Long work in one go keeps this process from renewing its leases: pause in it, or do it in a thread of its own.
 */
export interface Processor {
  readonly name: string;
  process(request: ProcessingRequest, signal: AbortSignal): Promise<ProcessorOutput>;
}

/** Another try would end the same way. */
export class CannotBeProcessed extends Error {
  override readonly name = 'CannotBeProcessed';
}
