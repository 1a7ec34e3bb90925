import { expect, it } from '@jest/globals';
import { type Arrival, judge } from '../chaos/ledger.js';

const arrival = (id: string, revision = 1, subject = id): Arrival => ({ id, subject, revision });
const committed = new Set(['a', 'b', 'c']);
const log = ['a', 'b', 'c'];
const right = { reader: 'it', arrived: 3, lost: 0, doubled: 0, invented: 0, disordered: 0 };

it.each<[string, Arrival[], Partial<typeof right>]>([
  ['nothing, if all arrived once and in order', [arrival('a'), arrival('b'), arrival('c')], {}],
  ['a change that did not arrive', [arrival('a'), arrival('b')], { arrived: 2, lost: 1 }],
  ['a change that came twice', [arrival('a'), arrival('b'), arrival('c'), arrival('c', 2)], { doubled: 1 }],
  [
    'a change that nobody committed',
    [arrival('a'), arrival('b'), arrival('c'), arrival('d')],
    { arrived: 4, invented: 1, disordered: 1 },
  ],
  ['changes in another order than the log', [arrival('b'), arrival('a'), arrival('c')], { disordered: 2 }],
  [
    'a revision of a subject that does not grow',
    [arrival('a', 2, 'night'), arrival('b', 2, 'night'), arrival('c')],
    { disordered: 1 },
  ],
])('the ledger of the chaos tests finds %s', (_, arrivals, found) => {
  expect(judge('it', arrivals, committed, log)).toEqual({ ...right, ...found });
});
