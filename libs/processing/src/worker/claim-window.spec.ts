import { describe, expect, it } from '@jest/globals';
import { type RunClaim } from '../lifecycle/run.js';
import { ClaimWindow } from './claim-window.js';

const FULL_SCAN_EVERY_MS = 5_000;

describe('ClaimWindow', () => {
  const given = (...found: number[]) => {
    const windows: Array<number | null> = [];
    let nowMs = 0;
    const claim = (_: number, sinceMs: number | null) => {
      windows.push(sinceMs);
      return Promise.resolve(Array.from({ length: found.shift() ?? 0 }, () => ({}) as RunClaim));
    };
    const claimWindow = new ClaimWindow(claim, FULL_SCAN_EVERY_MS, () => nowMs);
    const takeAt = async (ms: number) => {
      nowMs = ms;
      await claimWindow.take(10);
    };
    return { windows, takeAt };
  };

  it('the first claim scans all jobs; later claims begin a second before the last claim that left slots free', async () => {
    const { windows, takeAt } = given(3, 0, 1);
    for (const ms of [0, 100, 300]) await takeAt(ms);
    expect(windows).toEqual([null, 1_100, 1_200]);
  });

  it('a claim that filled all free slots does not narrow the claim window', async () => {
    const { windows, takeAt } = given(3, 10, 10, 2);
    for (const ms of [0, 100, 200, 300, 400]) await takeAt(ms);
    expect(windows).toEqual([null, 1_100, 1_200, 1_300, 1_100]);
  });

  it('claims scan all jobs until a claim leaves slots free', async () => {
    const { windows, takeAt } = given(10, 10, 4);
    for (const ms of [0, 100, 200, 300]) await takeAt(ms);
    expect(windows).toEqual([null, null, null, 1_100]);
  });

  it('a claim scans all jobs every five seconds', async () => {
    const { windows, takeAt } = given();
    for (const ms of [0, 4_999, 5_000, 9_999, 10_000]) await takeAt(ms);
    expect(windows).toEqual([null, 5_999, null, 5_999, null]);
  });
});
