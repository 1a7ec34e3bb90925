import { type Recording } from './recording.js';

/** Two samples of a channel that stand for those from one index up to another. */
type Choice = (samples: readonly unknown[], from: number, to: number) => readonly [unknown, unknown];

/**
 * At most so many points, at least 2, without losing a peak: of each bucket a numeric channel keeps its minimum and its
 * maximum in order of occurrence, time and all others the first and the last sample.
 */
export function downsample(recording: Recording, points: number): Recording {
  const { channels, pointCount } = recording;
  if (pointCount <= points) return recording;
  const buckets = Math.floor(points / 2);
  const thinned = Object.entries(channels).map(([name, samples]) => {
    const choose = name !== 'time' && samples.every(isNumberOrNull) ? extremes : ends;
    return [name, chosen(samples, buckets, choose)] as const;
  });
  return { channels: Object.fromEntries(thinned), pointCount: 2 * buckets };
}

function chosen(samples: readonly unknown[], buckets: number, choose: Choice): unknown[] {
  const kept: unknown[] = [];
  for (let bucket = 0; bucket < buckets; bucket++) {
    const from = Math.floor((bucket * samples.length) / buckets);
    const to = Math.floor(((bucket + 1) * samples.length) / buckets);
    kept.push(...choose(samples, from, to));
  }
  return kept;
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
