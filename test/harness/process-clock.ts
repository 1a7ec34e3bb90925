import { resolve } from 'node:path';

const LOADED_FIRST = resolve('test/harness/wrong-clock.mjs');

/** The environment of a Node process whose clock is ahead by `aheadMs`, or behind if that is negative. */
export function processClock(aheadMs: number): Readonly<Record<string, string>> {
  if (aheadMs === 0) return {};
  return { NODE_OPTIONS: `--import ${LOADED_FIRST}`, CLOCK_AHEAD_MS: String(aheadMs) };
}
