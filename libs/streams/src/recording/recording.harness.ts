// For specs only.

import fc from 'fast-check';
import { type Recording } from './recording.js';

type Samples = fc.Arbitrary<readonly unknown[]>;

// JSON has no -0: adding 0 makes it 0.
const finite = fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => value + 0);
const measured = fc.oneof(
  fc.integer({ min: -500, max: 5_000 }),
  fc.double({ noNaN: true, min: -1e9, max: 1e9 }).map((value) => value + 0),
);
const degrees = (most: number) => fc.double({ noNaN: true, min: -most, max: most }).map((value) => value + 0);
const text = fc
  .string({ unit: 'grapheme', maxLength: 20 })
  .filter((value) => !/\0|\p{Surrogate}/u.test(value));
const orNull = <T>(sample: fc.Arbitrary<T>) => fc.option(sample, { freq: 5 });

/** Numbers with gaps, sometimes nothing but gaps, sometimes all the same. */
const numbers = (length: number): Samples =>
  fc.oneof(many(orNull(measured), length), same(fc.constant(null), length), same(measured, length));

const shapes = {
  number: numbers,
  latlng: (length: number): Samples => many(orNull(fc.tuple(degrees(90), degrees(180))), length),
  moving: (length: number): Samples => many(fc.boolean(), length),
  strange: (length: number): Samples =>
    many(
      fc.oneof(fc.constant(null), fc.boolean(), finite, text, fc.array(fc.option(finite), { maxLength: 8 })),
      length,
    ),
};

const KNOWN = [
  ['distance', shapes.number],
  ['latlng', shapes.latlng],
  ['altitude', shapes.number],
  ['velocity_smooth', shapes.number],
  ['heartrate', shapes.number],
  ['cadence', shapes.number],
  ['watts', shapes.number],
  ['temp', shapes.number],
  ['moving', shapes.moving],
  ['grade_smooth', shapes.number],
  ['core_temperature', shapes.number],
  ['constructor', shapes.strange],
  ['gear', shapes.strange],
] as const;

/** Recordings as a vendor may send them: any channels in any order, of any length, with gaps. */
export function recordings(
  options: { minPoints?: number; maxPoints?: number } = {},
): fc.Arbitrary<Recording> {
  const points = fc.integer({ min: options.minPoints ?? 1, max: options.maxPoints ?? 60 });
  return fc.tuple(points, fc.shuffledSubarray([...KNOWN])).chain(([pointCount, others]) => {
    const channels = others.map(([name, shape]) => named(name, shape(pointCount)));
    return fc
      .tuple(named('time', times(pointCount)), ...channels)
      .chain((all) => fc.shuffledSubarray(all, { minLength: all.length }))
      .map((entries) => ({ channels: Object.fromEntries(entries), pointCount }));
  });
}

function times(length: number): Samples {
  const step = fc.oneof(fc.nat({ max: 3 }), fc.double({ noNaN: true, min: 0, max: 600 }));
  return fc.array(step, { minLength: length, maxLength: length }).map((steps) => {
    let now = 0;
    return steps.map((seconds) => (now += seconds));
  });
}

function named(name: string, samples: Samples): fc.Arbitrary<readonly [string, readonly unknown[]]> {
  return samples.map((values) => [name, values] as const);
}

function many<T>(sample: fc.Arbitrary<T>, length: number): fc.Arbitrary<T[]> {
  return fc.array(sample, { minLength: length, maxLength: length });
}

function same<T>(sample: fc.Arbitrary<T>, length: number): fc.Arbitrary<T[]> {
  return sample.map((value) => new Array<T>(length).fill(value));
}
