import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { downsample } from './downsample.js';
import { recordings } from './recording.harness.js';
import { type Recording } from './recording.js';

const sizes = fc.integer({ min: 2, max: 40 });
const cases = fc.tuple(recordings(), sizes);
const larger = cases.filter(([recording, points]) => recording.pointCount > points);

describe('downsampling', () => {
  it('downsampling keeps two samples of each bucket', () => {
    const recording = {
      channels: {
        time: [0, 1, 2, 3, 9, 10, 11, 12],
        heartrate: [140, 180, 120, 150, 151, 150, 152, 152],
        watts: [null, 250, null, null, null, null, null, null],
        cadence: [80, 80, 80, 80, 90, null, 70, null],
        latlng: [[1, 1], null, null, [4, 4], [5, 5], [6, 6], [7, 7], null],
        moving: [true, false, false, true, false, true, true, true],
        gear: ['a', 9, 1, null, 'e', 'f', 'g', 'h'],
        core_temperature: [37.1, 37.9, 37, 37.2, 38, 38, 38, 38],
      },
      pointCount: 8,
    };
    const expected = {
      channels: {
        time: [0, 3, 9, 12],
        heartrate: [180, 120, 150, 152],
        watts: [250, 250, null, null],
        cadence: [80, 80, 90, 70],
        latlng: [[1, 1], [4, 4], [5, 5], null],
        moving: [true, true, false, true],
        gear: ['a', null, 'e', 'h'],
        core_temperature: [37.9, 37, 38, 38],
      },
      pointCount: 4,
    };
    expect(downsample(recording, 4)).toEqual(expected);
    expect(downsample(recording, 5)).toEqual(expected);
    expect(Object.keys(downsample(recording, 4).channels)).toEqual(Object.keys(recording.channels));
  });

  it('downsampling returns as many points as requested, or one less', () => {
    fc.assert(
      fc.property(larger, ([recording, points]) => {
        const { channels, pointCount } = downsample(recording, points);
        expect(pointCount).toBe(points - (points % 2));
        expect(Object.keys(channels)).toEqual(Object.keys(recording.channels));
        for (const samples of Object.values(channels)) expect(samples).toHaveLength(pointCount);
      }),
    );
  });

  it('downsampling returns a short recording as it is, and leaves a downsampled recording as it is', () => {
    fc.assert(
      fc.property(cases, ([recording, points]) => {
        const once = downsample(recording, points);
        expect(once === recording).toBe(recording.pointCount <= points);
        expect(downsample(once, points)).toBe(once);
      }),
    );
  });

  it('downsampling keeps minimum and maximum of each bucket and of the whole channel', () => {
    fc.assert(
      fc.property(larger, ([recording, points]) => {
        for (const [samples, kept] of numeric(recording, downsample(recording, points))) {
          const buckets = bucketsOf(samples, kept.length / 2);
          expect(buckets.flat()).toEqual(samples);
          buckets.forEach((bucket, at) => {
            expect(range(kept.slice(2 * at, 2 * at + 2))).toEqual(range(bucket));
          });
          expect(range(kept)).toEqual(range(samples));
        }
      }),
      { numRuns: 500 },
    );
  });

  it('downsampling keeps the two samples of a bucket in order of occurrence', () => {
    fc.assert(
      fc.property(larger, ([recording, points]) => {
        for (const [samples, kept] of numeric(recording, downsample(recording, points)))
          bucketsOf(samples, kept.length / 2).forEach((bucket, at) => {
            const [first, second] = kept.slice(2 * at, 2 * at + 2);
            expect(bucket.indexOf(first!)).toBeLessThanOrEqual(bucket.lastIndexOf(second!));
          });
      }),
      { numRuns: 500 },
    );
  });

  it('downsampling keeps the first and last time, and time never goes backwards', () => {
    fc.assert(
      fc.property(larger, ([recording, points]) => {
        const before = recording.channels['time'] as number[];
        const after = downsample(recording, points).channels['time'] as number[];
        expect([after.at(0), after.at(-1)]).toEqual([before.at(0), before.at(-1)]);
        expect(after).toEqual([...after].sort((a, b) => a - b));
      }),
    );
  });

  it('downsampling keeps positions, movement and unknown channels at the same indexes as time', () => {
    fc.assert(
      fc.property(larger, ([recording, points]) => {
        const places = recording.channels['time']!.map((_, place) => place);
        const marked = { ...recording, channels: { ...recording.channels, time: places } };
        const { channels } = downsample(marked, points);
        for (const [name, samples] of Object.entries(recording.channels))
          if (name !== 'time' && !isNumeric(samples))
            expect(channels[name]).toEqual(channels['time']!.map((place) => samples[place as number]));
      }),
    );
  });
});

type Numbers = (number | null)[];

function numeric(before: Recording, after: Recording): [Numbers, Numbers][] {
  return Object.entries(before.channels)
    .filter(([name, samples]) => name !== 'time' && isNumeric(samples))
    .map(([name, samples]) => [samples as Numbers, after.channels[name] as Numbers]);
}

function isNumeric(samples: readonly unknown[]): boolean {
  return samples.every((sample) => sample === null || typeof sample === 'number');
}

function bucketsOf(samples: Numbers, count: number): Numbers[] {
  const edge = (at: number) => Math.floor((at * samples.length) / count);
  return Array.from({ length: count }, (_, at) => samples.slice(edge(at), edge(at + 1)));
}

function range(samples: Numbers): Numbers {
  const numbers = samples.filter((sample) => sample !== null);
  return numbers.length === 0 ? [null, null] : [Math.min(...numbers), Math.max(...numbers)];
}
