import { expect, it } from '@jest/globals';
import { type Activity } from '../athletes/index.js';
import { listPage } from './listing.js';

const timeline = Array.from({ length: 10 }, (_, index) => {
  return { id: String(9 - index), startMs: (9 - index) * 1000 } as Activity;
});
const all = () => true;
const ids = (activities: readonly Activity[]) => activities.map(({ id }) => Number(id));

it('pages through everything without gap or repeat, in both orders', () => {
  const pages = (after?: number) =>
    [1, 2, 3, 4, 5].map((page) => ids(listPage(timeline, all, { page, perPage: 3, after })));
  expect(pages()).toEqual([[9, 8, 7], [6, 5, 4], [3, 2, 1], [0], []]);
  expect(pages(-1)).toEqual([[0, 1, 2], [3, 4, 5], [6, 7, 8], [9], []]);
});

it('takes both bounds at once, exclusive, oldest first', () => {
  expect(ids(listPage(timeline, all, { page: 1, perPage: 30, after: 2, before: 6 }))).toEqual([3, 4, 5]);
});

it('counts only what is visible', () => {
  const isEven = ({ id }: Activity) => Number(id) % 2 === 0;
  expect(ids(listPage(timeline, isEven, { page: 2, perPage: 2 }))).toEqual([4, 2]);
  expect(ids(listPage(timeline, isEven, { page: 2, perPage: 2, after: 0 }))).toEqual([6, 8]);
});

it('is empty where nothing lies between the bounds', () => {
  expect(listPage(timeline, all, { page: 1, perPage: 5, after: 100 })).toEqual([]);
  expect(listPage(timeline, all, { page: 1, perPage: 5, after: 6, before: 3 })).toEqual([]);
});
