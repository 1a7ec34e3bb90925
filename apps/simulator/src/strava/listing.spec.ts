import { expect, it } from '@jest/globals';
import { type Activity } from '#training-world';
import { listPage } from './listing.js';

const timeline = Array.from({ length: 10 }, (_, index) => {
  return { id: String(9 - index), startMs: (9 - index) * 1000 } as Activity;
});
const all = () => true;
const ids = (activities: readonly Activity[]) => activities.map(({ id }) => Number(id));

it('listPage pages through all activities without gap or repeat, in both orders', () => {
  const pages = (after?: number) =>
    [1, 2, 3, 4, 5].map((page) => ids(listPage(timeline, all, { page, perPage: 3, after })));
  expect(pages()).toEqual([[9, 8, 7], [6, 5, 4], [3, 2, 1], [0], []]);
  expect(pages(-1)).toEqual([[0, 1, 2], [3, 4, 5], [6, 7, 8], [9], []]);
});

it('listPage with before and after excludes both bounds and answers oldest first', () => {
  expect(ids(listPage(timeline, all, { page: 1, perPage: 30, after: 2, before: 6 }))).toEqual([3, 4, 5]);
});

it('listPage cuts a page before it drops hidden activities, so any page may have few activities', () => {
  const isEven = ({ id }: Activity) => Number(id) % 2 === 0;
  expect(ids(listPage(timeline, isEven, { page: 2, perPage: 3 }))).toEqual([6, 4]);
  expect(ids(listPage(timeline, isEven, { page: 2, perPage: 3, after: 0 }))).toEqual([4, 6]);
});

it('listPage answers an empty page if all activities of the page are hidden, even if more pages follow', () => {
  const isOld = ({ id }: Activity) => Number(id) < 5;
  const pages = [1, 2, 3, 4, 5].map((page) => ids(listPage(timeline, isOld, { page, perPage: 2 })));
  expect(pages).toEqual([[], [], [4], [3, 2], [1, 0]]);
});

it('listPage answers an empty page when nothing lies between the bounds', () => {
  expect(listPage(timeline, all, { page: 1, perPage: 5, after: 100 })).toEqual([]);
  expect(listPage(timeline, all, { page: 1, perPage: 5, after: 6, before: 3 })).toEqual([]);
});
