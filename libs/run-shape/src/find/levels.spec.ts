import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { levelsOf } from './levels.js';

function stairs(...steps: [level: number, bins: number][]): Float64Array {
  return Float64Array.from(steps.flatMap(([level, bins]) => Array.from({ length: bins }, () => level)));
}

describe('levels', () => {
  it('levels change where the values change', () => {
    const levels = levelsOf(stairs([0.8, 40], [1.2, 12], [0.7, 20]), 0.04, 4);
    expect(levels.map(({ from, to }) => [from, to])).toEqual([
      [0, 40],
      [40, 52],
      [52, 72],
    ]);
    expect(levels.map(({ mean }) => mean.toFixed(3))).toEqual(['0.800', '1.200', '0.700']);
  });

  it('levelsOf makes no change of level that saves less than the price', () => {
    const values = stairs([1, 30], [1.02, 30], [0.99, 30]);
    expect(levelsOf(values, 0.04, 4)).toHaveLength(1);
    expect(levelsOf(values, 0.001, 4)).toHaveLength(3);
  });

  it('levelsOf returns no levels for no values, and one level for fewer values than the shortest level has', () => {
    expect(levelsOf(new Float64Array(0), 0.04, 4)).toEqual([]);
    expect(levelsOf(stairs([1, 2]), 0.04, 4)).toEqual([{ from: 0, to: 2, mean: 1 }]);
  });

  it('levels cover all bins in order, and no level is shorter than the given minimum', () => {
    const values = fc.array(fc.double({ min: 0, max: 3, noNaN: true }), { minLength: 4, maxLength: 120 });
    fc.assert(
      fc.property(values, (numbers) => {
        const levels = levelsOf(Float64Array.from(numbers), 0.1, 4);
        expect(levels[0]!.from).toBe(0);
        expect(levels.at(-1)!.to).toBe(numbers.length);
        levels.forEach(({ from, to }, index) => {
          expect(to - from).toBeGreaterThanOrEqual(4);
          if (index > 0) expect(from).toBe(levels[index - 1]!.to);
        });
      }),
      { numRuns: 100 },
    );
  });

  it('levelsOf finds levels that are at least as cheap as every division into at most three levels', () => {
    const price = 0.05;
    const shortest = 3;
    const values = fc.array(fc.constantFrom(0.7, 0.8, 1, 1.1), { minLength: 6, maxLength: 18 });
    fc.assert(
      fc.property(values, (numbers) => {
        const found = levelsOf(Float64Array.from(numbers), price, shortest);
        const cuts = found.slice(1).map(({ from }) => from);
        const cheapest = Math.min(
          ...waysToCut(numbers.length, shortest).map((way) => costOf(numbers, way, price)),
        );
        expect(costOf(numbers, cuts, price)).toBeLessThanOrEqual(cheapest + 1e-9);
      }),
      { numRuns: 100 },
    );
  });
});

function waysToCut(length: number, shortest: number): number[][] {
  const ways: number[][] = [[]];
  for (let first = shortest; first <= length - shortest; first++) {
    ways.push([first]);
    for (let second = first + shortest; second <= length - shortest; second++) ways.push([first, second]);
  }
  return ways;
}

function costOf(numbers: readonly number[], cuts: readonly number[], price: number): number {
  const edges = [0, ...cuts, numbers.length];
  const errors = edges.slice(1).map((to, index) => {
    const part = numbers.slice(edges[index], to);
    const mean = part.reduce((sum, value) => sum + value, 0) / part.length;
    return part.reduce((sum, value) => sum + (value - mean) ** 2, 0);
  });
  return errors.reduce((sum, error) => sum + error, 0) + price * cuts.length;
}
