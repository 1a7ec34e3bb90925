import { describe, expect, it } from '@jest/globals';
import { type Series } from '../broker/broker.js';
import { findSeries, metaOf, pageOf } from './metas.js';

const series = (id: string, name: string, description?: string, title = 'Easy'): Series => ({
  id,
  name,
  description,
  episodes: [{ id: `${id}-1`, title, season: 1, episode: 1 }],
});
const SHELF = [
  series('h', 'Hill school', 'Climbs'),
  series('b', 'Base'),
  series('t', 'Threshold', 'Tempo', 'Over and under'),
];
const page = (query: string) => pageOf(SHELF, new URLSearchParams(query)).map(({ id }) => id);

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
  ])('for %j has %j', (query, ids) => expect(page(query)).toEqual(ids));

  it('has a hundred at most', () => {
    const many = Array.from({ length: 250 }, (_, index) => series(`${index}`, 'x'));
    expect(pageOf(many, new URLSearchParams('skip=200'))).toHaveLength(50);
    expect(pageOf(many, new URLSearchParams())).toHaveLength(100);
  });
});

describe('the page of a series', () => {
  it("is found by our id and by the broker's, and names its episodes by ours", () => {
    for (const id of ['pacekeeper:t', 't']) expect(findSeries(SHELF, id)).toBe(SHELF[2]);
    expect(metaOf(SHELF[2]!)).toMatchObject({
      id: 'pacekeeper:t',
      type: 'series',
      videos: [{ id: 'pacekeeper:t-1', title: 'Over and under', season: 1, episode: 1 }],
    });
  });
});
