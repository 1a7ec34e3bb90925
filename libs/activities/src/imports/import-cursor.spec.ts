import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { beforeOfNextPage } from './import-cursor.js';

const PAGE = 200;

/** A vendor that lists what began before a moment, newest first. */
function pageOf(history: readonly number[], before: number | null): number[] {
  return history.filter((start) => before === null || start < before).slice(0, PAGE);
}

describe('paging through a history', () => {
  it('asks again from one second after the oldest, which it will see twice', () => {
    expect(beforeOfNextPage(new Date(1_700_000_000_000), null)).toBe(1_700_000_001);
  });

  it('misses nothing while no second holds a whole page, and ends', () => {
    const histories = fc.array(fc.integer({ min: 1_700_000_000, max: 1_700_000_400 }), { maxLength: 900 });
    fc.assert(
      fc.property(histories, (starts) => {
        const history = [...starts].sort((a, b) => b - a);
        const crowded = new Set(history.filter((start, index) => history[index + PAGE - 1] === start));
        fc.pre(crowded.size === 0);
        const seen = new Set<number>();
        let before: number | null = null;
        for (let calls = 0; ; calls += 1) {
          expect(calls).toBeLessThan(history.length + 2);
          const page = pageOf(history, before);
          page.forEach((start) => seen.add(start));
          if (page.length < PAGE) break;
          before = beforeOfNextPage(new Date((page.at(-1) as number) * 1_000), before);
        }
        expect(seen).toEqual(new Set(history));
      }),
      { numRuns: 200 },
    );
  });

  it('goes on where one second holds a whole page', () => {
    expect(beforeOfNextPage(new Date(1_700_000_000_000), 1_700_000_001)).toBe(1_700_000_000);
  });

  it('lists ten thousand activities within 51 calls', () => {
    const history = Array.from({ length: 10_000 }, (_, index) => 1_800_000_000 - index * 3_600);
    let before: number | null = null;
    let calls = 1;
    for (let page = pageOf(history, before); page.length === PAGE; page = pageOf(history, before), calls += 1)
      before = beforeOfNextPage(new Date((page.at(-1) as number) * 1_000), before);
    expect(calls).toBeLessThanOrEqual(51);
  });
});
