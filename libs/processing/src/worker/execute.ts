import { LeaseLost } from '#platform';
import { type RunOutcome, type Run } from '../lifecycle/run.js';
import { CannotBeProcessed, type Processor } from '../processor.js';
import { OutputUnusable, readOutcome } from './read-output.js';
import { type WorkerSettings } from './worker-settings.js';

const MAX_ERROR_LENGTH = 1_000;

class DeadlinePassed extends Error {
  override readonly name = 'DeadlinePassed';
  constructor(deadlineMs: number) {
    super(`The run took longer than ${deadlineMs / 1_000} s`);
  }
}

/** The worker stops before the run has ended. */
export class WorkerStopping extends Error {
  override readonly name = 'WorkerStopping';
  constructor() {
    super('The worker was stopped');
  }
}

/** Runs the processor and returns the outcome, also if the processor throws or hangs. Returns undefined if the lease was lost. */
export async function execute(
  processor: Processor,
  run: Run,
  lease: AbortSignal,
  { deadlineMs, retryAfterMs }: WorkerSettings,
): Promise<RunOutcome | undefined> {
  const over = new AbortController();
  const onLost = () => over.abort(lease.reason);
  const deadline = setTimeout(() => over.abort(new DeadlinePassed(deadlineMs)), deadlineMs);
  lease.addEventListener('abort', onLost, { once: true });
  if (lease.aborted) onLost();
  try {
    return readOutcome(
      await unlessAborted(over.signal, () => processor.process(requestOf(run), over.signal)),
    );
  } catch (error) {
    return outcomeOf(error, retryAfterMs(run.attempt_count));
  } finally {
    clearTimeout(deadline);
    lease.removeEventListener('abort', onLost);
  }
}

/** Rejects when the signal aborts. The work itself may go on; its result is then dropped. */
async function unlessAborted<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  signal.throwIfAborted();
  return new Promise<T>((resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
    // Started inside a promise, since the processor may throw synchronously or return no promise.
    void Promise.resolve().then(work).then(resolve, reject);
  });
}

function outcomeOf(error: unknown, afterMs: number): RunOutcome | undefined {
  if (error instanceof LeaseLost) return undefined;
  if (error instanceof WorkerStopping) return { kind: 'retry', error: textOf(error), afterMs: 0 };
  if (error instanceof CannotBeProcessed || error instanceof OutputUnusable)
    return { kind: 'failed', error: textOf(error) };
  return { kind: 'retry', error: textOf(error), afterMs };
}

function requestOf(run: Run) {
  return {
    activityId: run.activity_id,
    jobId: run.job_id,
    runId: run.run_id,
    kind: run.request_kind,
    attempt: run.attempt_count,
    force: run.force_update,
  };
}

/** The error as text for Postgres: without NUL and 1,000 characters at most. */
export function textOf(error: unknown): string {
  return thrownText(error).slice(0, MAX_ERROR_LENGTH).replaceAll('\0', '') || 'No reason given';
}

function thrownText(error: unknown): string {
  try {
    return String(error);
  } catch {
    return 'The thrown value cannot be read';
  }
}
