import { resolve } from 'node:path';

const WRONG_CLOCK = resolve('test/harness/wrong-clock.mjs');
// The api checks the times of vendors' signatures and of tokens, so its clock may differ by seconds. Workers use only the
// database's time.
const AHEAD_MS: Readonly<Record<string, readonly number[]>> = {
  api: [20_000, -20_000],
  worker: [600_000, -600_000, 0],
};

/** The environment of a process with a wrong clock. */
export function clockOf(kind: string, n: number): Record<string, string> {
  const all = AHEAD_MS[kind] ?? [0];
  return { NODE_OPTIONS: `--import ${WRONG_CLOCK}`, CLOCK_AHEAD_MS: String(all[n % all.length]) };
}
