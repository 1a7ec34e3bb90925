import { describe, expect, it } from '@jest/globals';
import { type Series } from '../broker/broker.js';
import { findSeries, metaOf, pageOf } from './metas.js';

const series = (id: string, name: string, description?: string, title = 'Easy'): Series => ({
  id,
  name,
  description,
  episodes: [{ id: `${id}-1`, title, season: 1, episode: 1 }],
});
const SERIES = [
  series('h', 'Hill school', 'Climbs'),
  series('b', 'Base'),
  series('t', 'Threshold', 'Tempo', 'Over and under'),
];
const page = (query: string) => pageOf(SERIES, new URLSearchParams(query)).map(({ id }) => id);

describe('a page of the catalogue', () => {
  it.each([
    ['', ['h', 'b', 't']],
    ['search=HILL', ['h']],
    ['search=climbs+school', ['h']],
    ['search=under', ['t']],
    ['search=hill+tempo', []],
    ['search=', ['h', 'b', 't']],
    ['skip=1', ['b', 't']],
    ['skip=3', []],
    ['skip=-1', ['h', 'b', 't']],
    ['skip=x', ['h', 'b', 't']],
    ['skip=1e999', ['h', 'b', 't']],
  ])('a page of the catalogue for the query %j has the series %j', (query, ids) =>
    expect(page(query)).toEqual(ids),
  );

  it('a page of the catalogue has 100 series at most', () => {
    const many = Array.from({ length: 250 }, (_, index) => series(`${index}`, 'x'));
    expect(pageOf(many, new URLSearchParams('skip=200'))).toHaveLength(50);
    expect(pageOf(many, new URLSearchParams())).toHaveLength(100);
  });
});

describe('the page of a series', () => {
  it("a series is found by our id and by the broker's id, and its episodes have our ids", () => {
    for (const id of ['pacekeeper:t', 't']) expect(findSeries(SERIES, id)).toBe(SERIES[2]);
    expect(metaOf(SERIES[2]!)).toMatchObject({
      id: 'pacekeeper:t',
      type: 'series',
      videos: [{ id: 'pacekeeper:t-1', title: 'Over and under', season: 1, episode: 1 }],
    });
  });
});
