import { floor, max, min, nearest } from './maths.js';
import { type Random, randomFor } from './random.js';

export const EPOCH_S = 30;
export const STAGES = { deep: 1, light: 2, rem: 3, awake: 4 } as const;

/** The values that decide the hypnogram. */
interface SleepShape {
  readonly seed: number;
  readonly startMs: number;
  readonly endMs: number;
  readonly nap: boolean;
  readonly quality: number;
}

// Deep sleep is mostly early in the night, REM sleep mostly late.
const DEEP_SHARES = [0.42, 0.32, 0.18, 0.08, 0.03];
const REM_SHARES = [0.08, 0.2, 0.28, 0.34, 0.38];

/** One stage digit (1 deep, 2 light, 3 REM, 4 awake) for every 30 seconds in bed. */
export function hypnogramOf(sleep: SleepShape): Uint8Array {
  const epochs = nearest((sleep.endMs - sleep.startMs) / 1000 / EPOCH_S);
  const stages = new Uint8Array(epochs).fill(STAGES.light);
  const random = randomFor(sleep.seed, 'hypnogram');
  const unrest = 1 - sleep.quality;
  const lyingAwake = min(epochs - 1, nearest(random.between(6, 16) + 50 * unrest * random.next()));
  const gettingUp = nearest(random.between(0, 10));

  stages.fill(STAGES.awake, 0, lyingAwake);
  let at = lyingAwake;
  for (let cycle = 0; at < epochs; cycle++) at = writeCycle(stages, at, cycle, sleep, random);
  stages.fill(STAGES.awake, max(lyingAwake + 1, epochs - gettingUp));
  return stages;
}

function writeCycle(
  stages: Uint8Array,
  start: number,
  cycle: number,
  { nap, quality }: SleepShape,
  random: Random,
): number {
  const length = random.int(150, 210);
  const row = min(cycle, DEEP_SHARES.length - 1);
  const deep = nearest(length * DEEP_SHARES[row]! * (0.5 + 0.6 * quality) * (nap ? 0.4 : 1));
  const rem = nearest(length * REM_SHARES[row]! * (0.6 + 0.4 * quality));
  const fallingDeeper = nearest((length - deep - rem) * random.between(0.25, 0.45));
  const end = start + length;
  stages.fill(STAGES.deep, start + fallingDeeper, start + fallingDeeper + deep);
  stages.fill(STAGES.rem, end - rem, end);

  const wakings = floor(random.between(0.8, 2 + 8 * (1 - quality)));
  for (let i = 0; i < wakings; i++) {
    const from = start + random.int(fallingDeeper + deep, length);
    stages.fill(STAGES.awake, from, from + random.int(1, 12));
  }
  return end;
}

/** The stages as a string, one digit per 30 or 300 seconds. A digit for 300 seconds is the most frequent stage. */
export function phaseString(hypnogram: Uint8Array, seconds: 30 | 300): string {
  const perDigit = seconds / EPOCH_S;
  let digits = '';
  for (let at = 0; at < hypnogram.length; at += perDigit) {
    digits += commonest(hypnogram.subarray(at, at + perDigit));
  }
  return digits;
}

function commonest(epochs: Uint8Array): number {
  const counts = [0, 0, 0, 0, 0];
  let best = epochs[0] ?? STAGES.light;
  for (const stage of epochs) {
    const count = (counts[stage] = counts[stage]! + 1);
    if (count > counts[best]!) best = stage;
  }
  return best;
}
