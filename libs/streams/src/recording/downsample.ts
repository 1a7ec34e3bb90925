import { type Recording } from './recording.js';

/** Chooses the two samples that replace all samples from index `from` to `to` - 1. */
type Choice = (samples: readonly unknown[], from: number, to: number) => readonly [unknown, unknown];

/**
 * Reduces a recording to at most `points` points (2 or more) without losing a peak. Samples are put into buckets. A numeric
 * channel keeps the minimum and the maximum of each bucket, in order of occurrence. `time` and every channel that is not numeric
 * keep the first and the last sample of each bucket.
 */
export function downsample(recording: Recording, points: number): Recording {
  const { channels, pointCount } = recording;
  if (pointCount <= points) return recording;
  const buckets = Math.floor(points / 2);
  const reduced = Object.entries(channels).map(([name, samples]) => {
    const choose = name !== 'time' && samples.every(isNumberOrNull) ? extremes : ends;
    return [name, chooseSamples(samples, buckets, choose)] as const;
  });
  return { channels: Object.fromEntries(reduced), pointCount: 2 * buckets };
}

function chooseSamples(samples: readonly unknown[], buckets: number, choose: Choice): unknown[] {
  const chosen: unknown[] = [];
  for (let bucket = 0; bucket < buckets; bucket++) {
    const from = Math.floor((bucket * samples.length) / buckets);
    const to = Math.floor(((bucket + 1) * samples.length) / buckets);
    chosen.push(...choose(samples, from, to));
  }
  return chosen;
}

const ends: Choice = (samples, from, to) => [samples[from], samples[to - 1]];

const extremes: Choice = (samples, from, to) => {
  const numbers = samples as readonly (number | null)[];
  let lowest = -1;
  let highest = -1;
  for (let at = from; at < to; at++) {
    const value = numbers[at];
    if (value === null) continue;
    if (lowest < 0 || value! < numbers[lowest]!) lowest = at;
    if (highest < 0 || value! > numbers[highest]!) highest = at;
  }
  if (lowest < 0) return [null, null];
  return [numbers[Math.min(lowest, highest)], numbers[Math.max(lowest, highest)]];
};

function isNumberOrNull(sample: unknown): boolean {
  return sample === null || typeof sample === 'number';
}
