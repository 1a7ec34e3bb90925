import { describe, expect, it } from '@jest/globals';
import { extremesOf, isolatedIn, nearest, pauseOf } from './channel.js';

describe('extremesOf', () => {
  it('extremesOf leaves gaps out', () => {
    expect(extremesOf([null, 3, -1, null, 4])).toEqual({ lowest: -1, mean: 2, highest: 4 });
    expect(extremesOf([null, null])).toBeNull();
    expect(extremesOf([])).toBeNull();
  });
});

describe('pauseOf', () => {
  it('pauseOf returns 15 s, or four usual steps if these are longer', () => {
    expect([[], [0], [0, 1, 2, 63, 64]].map((seconds) => pauseOf(seconds))).toEqual([15, 15, 15]);
    expect(pauseOf([0, 60, 120, 180, 900])).toBe(240);
  });
});

describe('isolatedIn', () => {
  it('finds values between two gaps or pauses, also at the ends', () => {
    const xs = [0, 60, 61, 62, 63, 64];
    expect(isolatedIn([0, 3, null, 4, null, 5], xs, 15)).toEqual([0, 1, 3, 5]);
    expect(isolatedIn([0, 3, 4, null, 5, 6], xs, 15)).toEqual([0]);
    expect(isolatedIn([0, 3, 4, null, 5, 6], xs)).toEqual([]);
    expect(isolatedIn([], [])).toEqual([]);
  });
});

describe('nearest', () => {
  const xs = [0, 10, 11, 40];

  it('finds the closest sample, also before the first and after the last', () => {
    expect([-5, 4, 6, 10, 24, 30, 99].map((wanted) => nearest(xs, wanted))).toEqual([0, 0, 1, 1, 2, 3, 3]);
  });
});
