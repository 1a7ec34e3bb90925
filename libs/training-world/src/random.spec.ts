import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { DriftingNoise, fractionOf, mix, randomFor, seed32 } from './random.js';

describe('random', () => {
  it('fractionOf draws the same for the same names, in any order', () => {
    const forwards = [0, 1, 2, 3].map((index) => fractionOf(7, 'a', index));
    const backwards = [3, 2, 1, 0].map((index) => fractionOf(7, 'a', index)).reverse();
    expect(backwards).toEqual(forwards);
  });

  it('fractionOf draws differently for other seeds, purposes and indices', () => {
    const draws = [
      fractionOf(1, 'a', 1),
      fractionOf(2, 'a', 1),
      fractionOf(1, 'b', 1),
      fractionOf(1, 'a', 2),
    ];
    expect(new Set(draws).size).toBe(4);
  });

  it('seed32 gives different results for large and fractional seeds', () => {
    const seeds = [0, 1, -1, 0.5, 2 ** 32, 2 ** 32 + 1, 2 ** 40, Number.MAX_SAFE_INTEGER].map(seed32);
    expect(new Set(seeds).size).toBe(seeds.length);
  });

  it('mix rarely maps two counters to the same word', () => {
    const words = new Set(Array.from({ length: 20_000 }, (_, index) => mix(1, index)));
    expect(words.size).toBeGreaterThan(19_998);
  });

  it('Random stays in range and is evenly distributed', () => {
    fc.assert(
      fc.property(fc.integer(), (seed) => {
        const random = randomFor(seed, 'range');
        const draws = Array.from({ length: 2000 }, () => random.next());
        const mean = draws.reduce((sum, draw) => sum + draw, 0) / draws.length;
        return draws.every((draw) => draw >= 0 && draw < 1) && Math.abs(mean - 0.5) < 0.05;
      }),
    );
  });

  it('DriftingNoise wanders around zero with the requested deviation', () => {
    const drifting = new DriftingNoise(randomFor(1, 'drift'), 5, 2);
    const values = Array.from({ length: 20_000 }, () => drifting.next());
    const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
    const deviation = Math.sqrt(values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / values.length);
    expect(Math.abs(mean)).toBeLessThan(0.2);
    expect(deviation).toBeGreaterThan(1.8);
    expect(deviation).toBeLessThan(2.2);
  });
});
