/**
 * The clock of this process. The clocks of two processes differ, so leases use the clock of Postgres and budgets use the clock of Redis.
 */
export abstract class Clock {
  abstract nowMs(): number;
}

/** The process's own clock. It may differ from the clock of the database. */
export class SystemClock extends Clock {
  override nowMs(): number {
    return Date.now();
  }
}

/**
 * Divides real durations by TIME_SCALE, so that a demo or a test passes days in minutes. All other code has real durations. With a
 * TIME_SCALE of 900, a window of 15 minutes lasts 1 s and a day lasts 96 s.
 */
export interface TimeScale {
  readonly factor: number;
  /** For a retry delay, a cool-down or a retention; without a lower bound. */
  readonly wait: (realMs: number) => number;
  /** For the interval of a sweep; at least 250 ms, to save CPU time. */
  readonly sweep: (realMs: number) => number;
  /** For a lease, a lock or a stale threshold; at least 5 s, because a process does not become faster with TIME_SCALE. */
  readonly guard: (realMs: number) => number;
}

const SHORTEST_SWEEP_MS = 250;
const SHORTEST_GUARD_MS = 5_000;

export function timeScale(factor: number): TimeScale {
  return {
    factor,
    wait: (realMs) => realMs / factor,
    sweep: (realMs) => Math.max(SHORTEST_SWEEP_MS, realMs / factor),
    guard: (realMs) => Math.max(SHORTEST_GUARD_MS, realMs / factor),
  };
}
