import { type Ending, type Run } from '../lifecycle/run.js';
import { CannotBeProcessed, type Processor } from '../processor.js';
import { OutputUnusable, readOutput } from './read-output.js';
import { DeadlinePassed, LeaseLost, WorkerStopping } from './run-ends.js';
import { type WorkerSettings } from './worker-settings.js';

const LONGEST_ERROR = 1_000;

/** How the run ended, whatever the processor does; nothing, where that is not ours to say any more. */
export async function execute(
  processor: Processor,
  run: Run,
  lease: AbortSignal,
  { deadlineMs, retryAfterMs }: WorkerSettings,
): Promise<Ending | undefined> {
  const over = new AbortController();
  const onLost = () => over.abort(lease.reason);
  const deadline = setTimeout(() => over.abort(new DeadlinePassed(deadlineMs)), deadlineMs);
  lease.addEventListener('abort', onLost, { once: true });
  if (lease.aborted) onLost();
  try {
    const output = await unlessAborted(over.signal, () => processor.process(requestOf(run), over.signal));
    return { kind: 'succeeded', output: readOutput(output) };
  } catch (error) {
    return endingOf(error, retryAfterMs(run.attempt_count));
  } finally {
    clearTimeout(deadline);
    lease.removeEventListener('abort', onLost);
  }
}

/** The work itself may go on: what it answers then is nobody's business. */
async function unlessAborted<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  signal.throwIfAborted();
  return new Promise<T>((resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
    // Begun in a promise of ours: it may throw at once, or answer something that is none.
    void Promise.resolve().then(work).then(resolve, reject);
  });
}

function endingOf(error: unknown, afterMs: number): Ending | undefined {
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

/** As Postgres takes it, which is without NUL; and not a novel. */
export function textOf(error: unknown): string {
  return thrownText(error).slice(0, LONGEST_ERROR).replaceAll('\0', '') || 'No reason given';
}

function thrownText(error: unknown): string {
  try {
    return String(error);
  } catch {
    return 'Something that cannot be read was thrown';
  }
}
