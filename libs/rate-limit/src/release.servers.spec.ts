import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { atOnce, call, Workers } from './budget.harness.js';
import { strava, type VendorPolicy } from './policy.js';
import { windowAt } from './windows.js';

const SCALE = 900;
// A day of four windows, a second each.
const DAY_SECONDS = 4 * 900;
const DAY_LIMIT = 200;

const shortDays: VendorPolicy = {
  ...strava,
  counters: strava.counters.map((counter) =>
    counter.window === 'day' ? { ...counter, seconds: DAY_SECONDS, limit: DAY_LIMIT } : counter,
  ),
};

describe('the release of what live calls have left of a day', () => {
  let workers: Workers;
  beforeAll(async () => (workers = await Workers.begin()));
  afterAll(() => workers.end());

  it('lets those who always have work use the whole day, each coming back when it was told to', async () => {
    // A machine that stands still for a second of a day leaves something of it.
    for (let days = 1; !(await isUsedWhole()); days += 1) expect(days).toBeLessThan(4);
  });

  /** Whether a day was; what must not be is seen to on any day. */
  async function isUsedWhole(): Promise<boolean> {
    const one = await workers.start({ policy: shortDays, scale: SCALE });
    const two = await workers.start({ policy: shortDays, scale: SCALE, prefix: one.prefix });
    const { endsAtMs: beginsAtMs } = windowAt(Date.now(), DAY_SECONDS, SCALE);
    const { endsAtMs } = windowAt(beginsAtMs, DAY_SECONDS, SCALE);
    await pause(beginsAtMs - Date.now());
    const grants: number[] = [];
    const toldAtRelease: Array<{ notBeforeMs: number; notAfterMs: number }> = [];
    const work = async ({ budget }: typeof one, callClass: 'import' | 'backfill') => {
      while (Date.now() < endsAtMs) {
        const askedAtMs = Date.now();
        const answers = await atOnce(10, () => budget.decide(call(callClass)));
        const toldAtMs = Date.now();
        const refusals = answers.flatMap((answer) => ('kind' in answer ? [answer] : []));
        for (const answer of answers) if (!('kind' in answer)) grants.push(answer.nowMs);
        for (const { window, retryAfterMs } of refusals)
          if (window.endsWith('day') && toldAtMs + retryAfterMs < endsAtMs)
            toldAtRelease.push({
              notBeforeMs: askedAtMs + retryAfterMs,
              notAfterMs: toldAtMs + retryAfterMs,
            });
        await pause(refusals[0]?.retryAfterMs ?? 0);
      }
    };
    await Promise.all([work(one, 'import'), work(two, 'backfill')]);

    const ofTheDay = grants.filter((nowMs) => nowMs >= beginsAtMs && nowMs < endsAtMs);
    expect(ofTheDay.length).toBeLessThanOrEqual(DAY_LIMIT);
    const releaseMs = endsAtMs - 1_000;
    const early = ofTheDay.filter((nowMs) => nowMs < releaseMs);
    expect(early.length).toBeLessThanOrEqual(DAY_LIMIT * 0.95);
    for (const { notBeforeMs, notAfterMs } of toldAtRelease) {
      expect(notAfterMs).toBeGreaterThanOrEqual(releaseMs);
      expect(notBeforeMs).toBeLessThan(releaseMs + 150);
    }
    return ofTheDay.length === DAY_LIMIT && early.length === DAY_LIMIT * 0.95 && toldAtRelease.length > 0;
  }
});
