import { processClock } from '../../harness/process-clock.js';

// The api checks the times of vendors' signatures and of tokens, so its clock may differ by seconds. Workers use only the
// database's time.
const AHEAD_MS: Readonly<Record<string, readonly number[]>> = {
  api: [20_000, -20_000],
  worker: [600_000, -600_000, 0],
};

/** The environment of a process with a wrong clock. */
export function clockOf(kind: string, n: number): Readonly<Record<string, string>> {
  const all = AHEAD_MS[kind] ?? [0];
  return processClock(all[n % all.length] ?? 0);
}
