import { type Config, type TimeScale } from '#platform';
import { retryAfterMs } from '../lifecycle/retry-policy.js';

export const WORKER_SETTINGS = Symbol('worker settings');

export interface WorkerSettings {
  /** Runs at a time in this process. */
  readonly concurrency: number;
  readonly leaseMs: number;
  /** A run that takes longer is given up, however often its lease was renewed. */
  readonly deadlineMs: number;
  /** For what no notification tells of: retries that are due, and notifications that were lost. */
  readonly pollMs: number;
  /** When the process stops, runs in hand may take so long. */
  readonly stopWithinMs: number;
  readonly retryAfterMs: (attempt: number) => number;
}

const DEFAULTS: Config['jobs'] = { concurrency: 16, deadlineSeconds: 120 };
const LEASE_MS = 30_000;
const POLL_MS = 1_000;
// Of the 25 s that a process has.
const STOP_WITHIN_MS = 15_000;

export function workerSettings(
  scale: TimeScale,
  { concurrency, deadlineSeconds } = DEFAULTS,
): WorkerSettings {
  return {
    concurrency,
    leaseMs: scale.guard(LEASE_MS),
    // What a computer does takes as long in whatever time.
    deadlineMs: deadlineSeconds * 1_000,
    pollMs: scale.sweep(POLL_MS),
    stopWithinMs: STOP_WITHIN_MS,
    retryAfterMs: (attempt) => scale.wait(retryAfterMs(attempt)),
  };
}
