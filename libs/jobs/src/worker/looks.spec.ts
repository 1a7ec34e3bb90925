import { describe, expect, it } from '@jest/globals';
import { type Claim } from '../lifecycle/run.js';
import { Looks } from './looks.js';

const EVERYWHERE_EACH_MS = 5_000;

describe('looks for jobs', () => {
  const given = (...found: number[]) => {
    const asked: Array<number | null> = [];
    let nowMs = 0;
    const claim = (_: number, sinceMs: number | null) => {
      asked.push(sinceMs);
      return Promise.resolve(Array.from({ length: found.shift() ?? 0 }, () => ({}) as Claim));
    };
    const looks = new Looks(claim, EVERYWHERE_EACH_MS, () => nowMs);
    const takeAt = async (ms: number) => {
      nowMs = ms;
      await looks.take(10);
    };
    return { asked, takeAt };
  };

  it('begin everywhere, and then go back to the last that found no more, and a little further', async () => {
    const { asked, takeAt } = given(3, 0, 1);
    for (const ms of [0, 100, 300]) await takeAt(ms);
    expect(asked).toEqual([null, 1_100, 1_200]);
  });

  it('do not forget what they had no hands for', async () => {
    const { asked, takeAt } = given(3, 10, 10, 2);
    for (const ms of [0, 100, 200, 300, 400]) await takeAt(ms);
    expect(asked).toEqual([null, 1_100, 1_200, 1_300, 1_100]);
  });

  it('are everywhere until all of it is found', async () => {
    const { asked, takeAt } = given(10, 10, 4);
    for (const ms of [0, 100, 200, 300]) await takeAt(ms);
    expect(asked).toEqual([null, null, null, 1_100]);
  });

  it('are everywhere again and again', async () => {
    const { asked, takeAt } = given();
    for (const ms of [0, 4_999, 5_000, 9_999, 10_000]) await takeAt(ms);
    expect(asked).toEqual([null, 5_999, null, 5_999, null]);
  });
});
