import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { type ListPosition, nextPosition, PAGE } from './list-position.js';
import { STRAVAS_LIST } from './activities.harness.js';

const ASKED_AT = new Date(1_800_000_001_000);
const START: ListPosition = { before: null, page: 1 };

interface Item {
  readonly second: number;
  readonly isHidden: boolean;
}

/** Cuts a page, newest first, and then drops hidden activities, as the vendor does. */
function pageOf(history: readonly Item[], { before, page }: ListPosition): number[] {
  const older = history.filter(({ second }) => before === null || second < before);
  const cut = older.slice((page - 1) * PAGE, page * PAGE);
  return cut.flatMap(({ second, isHidden }) => (isHidden ? [] : [second]));
}

const scopeOf = (seesPrivate: boolean) => ({
  source: STRAVAS_LIST,
  scopes: seesPrivate ? ['read', STRAVAS_LIST.fullScope] : ['read'],
});

/** Returns every second that was listed, and the number of calls. */
function walk(
  history: readonly Item[],
  seesPrivate: boolean,
  since: Date | null = null,
  listed: typeof pageOf = pageOf,
) {
  const seen = new Set<number>();
  let calls = 0;
  for (let at: ListPosition | undefined = START; at;) {
    const page = listed(history, at);
    calls += 1;
    if (calls > history.length + 10) throw new Error('the paging does not end');
    page.forEach((second) => seen.add(second));
    const oldestStart = page.length > 0 ? new Date(Math.min(...page) * 1_000) : undefined;
    at = nextPosition(
      at,
      { length: page.length, oldestStart },
      { ...scopeOf(seesPrivate), since, askedAt: ASKED_AT },
    );
  }
  return { seen, calls };
}

const hourly = (count: number, isHidden: (index: number) => boolean = () => false): Item[] =>
  Array.from({ length: count }, (_, n) => ({ second: 1_800_000_000 - n * 3_600, isHidden: isHidden(n) }));
const visible = (history: readonly Item[]) =>
  new Set(history.flatMap(({ second, isHidden }) => (isHidden ? [] : [second])));

describe('paging through a history', () => {
  it('paging lists every visible activity if fewer than 1,000 in a row are hidden and no single second fills a page (property)', () => {
    const item = fc.record({
      second: fc.integer({ min: 1_700_000_000, max: 1_700_000_400 }),
      isHidden: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(item, { maxLength: 900 }), (items) => {
        const history = [...items].sort((a, b) => b.second - a.second);
        fc.pre(!history.some(({ second }, index) => history[index + PAGE - 1]?.second === second));
        expect(walk(history, false).seen).toEqual(visible(history));
      }),
      { numRuns: 200 },
    );
  });

  it('paging goes on after a second with more activities than a page holds', () => {
    const crowd = Array.from({ length: 3 * PAGE }, (_, n) => ({
      second: n < 400 ? 900 : 800,
      isHidden: false,
    }));
    expect(walk(crowd, true).seen).toEqual(new Set([900, 800]));
  });

  it('paging lists all visible activities if 9,500 of 10,000 are hidden', () => {
    const history = hourly(10_000, (n) => n % 20 !== 7);
    const { seen, calls } = walk(history, false);
    expect(seen.size).toBe(500);
    expect(seen).toEqual(visible(history));
    expect(calls).toBeLessThanOrEqual(65);
  });

  it('paging finds activities behind four pages of hidden ones', () => {
    const history = hourly(1_000, (n) => n > 40 && n < 860);
    expect(walk(history, false).seen).toEqual(visible(history));
  });

  it('paging ends at the first empty page if no activity is hidden: 3 calls for 5 activities', () => {
    expect(walk(hourly(10_000), true).calls).toBeLessThanOrEqual(53);
    expect(walk(hourly(5), true).calls).toBe(3);
    expect(walk([], true).calls).toBe(1);
  });

  it('paging ends after five empty pages in a row if activities may be hidden', () => {
    expect(walk([], false).calls).toBe(5);
    expect(
      walk(
        hourly(5_000, () => true),
        false,
      ).calls,
    ).toBe(5);
  });

  it('paging requests no second page if the first page reaches back beyond the range', () => {
    const since = new Date((1_800_000_000 - 10 * 3_600) * 1_000);
    expect(walk(hourly(500), false, since).calls).toBe(1);
  });

  it('paging requests only one page for three days, since three days cannot hold more activities', () => {
    const since = new Date(ASKED_AT.getTime() - 3 * 86_400_000);
    expect(walk([], false, since).calls).toBe(1);
  });

  const ofOneSecond = (count: number): Item[] =>
    Array.from({ length: count }, () => ({ second: 1_000_000, isHidden: false }));

  it.each<[string, typeof pageOf]>([
    ['ignores the position', (history, { page }) => pageOf(history, { before: null, page })],
    ['ignores the position and the number of the page', (history) => pageOf(history, START)],
  ])('paging ends after at most 60 calls if the vendor %s', (_, listed) => {
    for (const history of [hourly(5), hourly(450), hourly(5_000), ofOneSecond(250)])
      for (const seesPrivate of [true, false])
        expect(walk(history, seesPrivate, null, listed).calls).toBeLessThanOrEqual(60);
  });

  it('paging goes on behind a second that fills a page if the vendor lists the second of the position, too', () => {
    const inclusive: typeof pageOf = (history, { before, page }) =>
      pageOf(history, { before: before === null ? null : before + 1, page });
    const older = { second: 900_000, isHidden: false };
    const { seen } = walk([...ofOneSecond(250), older], true, null, inclusive);
    expect(seen).toEqual(new Set([1_000_000, 900_000]));
  });

  it('paging requests the next page if no activity of a page has a start time', () => {
    const scope = { ...scopeOf(true), since: null, askedAt: ASKED_AT };
    expect(nextPosition(START, { length: 3, oldestStart: undefined }, scope)).toEqual({
      before: null,
      page: 2,
    });
  });

  it('paging requests a single page of a list that begins with the connection, whether the page is full or empty', () => {
    const source = { history: 'since connection' } as const;
    const oldestStart = new Date('2026-11-01T06:00:00Z');
    const scope = { source, scopes: [], since: null, askedAt: ASKED_AT };
    for (const page of [
      { length: 200, oldestStart },
      { length: 0, oldestStart: undefined },
    ])
      expect(nextPosition(START, page, scope)).toBeUndefined();
  });
});
