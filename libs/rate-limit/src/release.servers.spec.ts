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
    const one = await workers.start({ policy: shortDays, scale: SCALE });
    const two = await workers.start({ policy: shortDays, scale: SCALE, prefix: one.prefix });
    const { endsAtMs: beginsAtMs } = windowAt(Date.now(), DAY_SECONDS, SCALE);
    const { endsAtMs } = windowAt(beginsAtMs, DAY_SECONDS, SCALE);
    await pause(beginsAtMs - Date.now());
    const grants: number[] = [];
    const toldAtReleaseMs: number[] = [];
    const work = async ({ budget }: typeof one, callClass: 'import' | 'backfill') => {
      while (Date.now() < endsAtMs) {
        const answers = await atOnce(10, () => budget.decide(call(callClass)));
        const askedAtMs = Date.now();
        const refusals = answers.flatMap((answer) => ('kind' in answer ? [answer] : []));
        for (const answer of answers) if (!('kind' in answer)) grants.push(answer.nowMs);
        for (const { window, retryAfterMs } of refusals)
          if (window.endsWith('day') && askedAtMs + retryAfterMs < endsAtMs)
            toldAtReleaseMs.push(askedAtMs + retryAfterMs);
        await pause(refusals[0]?.retryAfterMs ?? 0);
      }
    };
    await Promise.all([work(one, 'import'), work(two, 'backfill')]);

    const ofTheDay = grants.filter((nowMs) => nowMs >= beginsAtMs && nowMs < endsAtMs);
    expect(ofTheDay).toHaveLength(DAY_LIMIT);
    const releaseMs = endsAtMs - 1_000;
    expect(ofTheDay.filter((nowMs) => nowMs < releaseMs)).toHaveLength(DAY_LIMIT * 0.95);
    expect(toldAtReleaseMs.length).toBeGreaterThan(0);
    for (const toldMs of toldAtReleaseMs) {
      expect(toldMs).toBeGreaterThanOrEqual(releaseMs);
      expect(toldMs).toBeLessThan(releaseMs + 150);
    }
  });
});
