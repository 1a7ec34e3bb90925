import { type Config, leaseLength, type TimeScale } from '#platform';
import { retryAfterMs } from '../lifecycle/retry-policy.js';

export interface WorkerSettings {
  /** Concurrent runs in this process. */
  readonly concurrency: number;
  readonly leaseMs: number;
  /** A longer run is aborted and counts as a failed attempt, although its lease is renewed. */
  readonly deadlineMs: number;
  /** Polling finds jobs without a notification: due retries, and jobs whose notification was lost. */
  readonly pollMs: number;
  /** When the process stops, running jobs get this long to finish. */
  readonly stopWithinMs: number;
  readonly retryAfterMs: (attempt: number) => number;
}

const DEFAULTS: Config['jobs'] = { concurrency: 16, deadlineSeconds: 120 };
const LEASE_MS = 30_000;
const POLL_MS = 1_000;
// A process has 25 s to stop.
const STOP_WITHIN_MS = 15_000;

export function workerSettings(
  scale: TimeScale,
  { concurrency, deadlineSeconds } = DEFAULTS,
): WorkerSettings {
  return {
    concurrency,
    leaseMs: leaseLength(scale, LEASE_MS),
    // Not scaled: computing takes as long at any TIME_SCALE.
    deadlineMs: deadlineSeconds * 1_000,
    pollMs: scale.sweep(POLL_MS),
    stopWithinMs: STOP_WITHIN_MS,
    retryAfterMs: (attempt) => scale.wait(retryAfterMs(attempt)),
  };
}
