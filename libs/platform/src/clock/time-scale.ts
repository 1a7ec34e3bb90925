/**
 * What vendors and patience dictate is written in real units and divided by TIME_SCALE here, nowhere else.
 * At 900 a 15-minute window lasts one second and a day 96.
 */
export interface TimeScale {
  readonly factor: number;
  /** A retry delay, a cooldown, a defer time, a retention: shrinks freely. */
  readonly wait: (realMs: number) => number;
  /** A sweep's interval: below 250 ms it would only burn the processor. */
  readonly sweep: (realMs: number) => number;
  /** A lease, a lock, a stale threshold: guards against dead processes, which die no faster. */
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
