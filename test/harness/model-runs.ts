import { randomInt } from 'node:crypto';
import { appendFileSync } from 'node:fs';
import { expect } from '@jest/globals';

const LARGEST_SEED = 2 ** 31;
const DAY_MS = 86_400_000;

/** The time-out of a model test. */
export const MODEL_TIMEOUT_MS = process.env.MODEL_RUNS ? DAY_MS : 300_000;

/**
 * How many random runs a model test makes, and from which seed. `MODEL_RUNS` raises the usual number, `MODEL_SEED` repeats a run, and the
 * file `MODEL_SEEDS` gets a line for each test (`npm run chaos models`).
 */
export function modelRuns(usual: number): { readonly numRuns: number; readonly seed: number } {
  const { MODEL_RUNS, MODEL_SEED, MODEL_SEEDS } = process.env;
  const runs = { numRuns: Number(MODEL_RUNS ?? usual), seed: Number(MODEL_SEED ?? randomInt(LARGEST_SEED)) };
  const line = { test: expect.getState().currentTestName, ...runs };
  if (MODEL_SEEDS) appendFileSync(MODEL_SEEDS, `${JSON.stringify(line)}\n`);
  return runs;
}
