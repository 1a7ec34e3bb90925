import { describe, expect, it } from '@jest/globals';
import { byteRange } from './byte-range.js';

const part = (first: number, last: number) => ({ kind: 'part', first, last });

describe('a Range header', () => {
  it.each([
    ['bytes=0-99', part(0, 99)],
    ['bytes=950-', part(950, 999)],
    ['bytes=950-5000', part(950, 999)],
    ['bytes=-10', part(990, 999)],
    ['bytes=-5000', part(0, 999)],
    ['bytes=1000-', { kind: 'none' }],
    ['bytes=-0', { kind: 'none' }],
    ['bytes=9-5', { kind: 'whole' }],
    ['bytes=-', { kind: 'whole' }],
    ['bytes=0-1,5-6', { kind: 'whole' }],
    ['lines=0-1', { kind: 'whole' }],
    [undefined, { kind: 'whole' }],
  ])('%s of a thousand bytes', (header, range) => expect(byteRange(header, 1_000)).toEqual(range));
});
