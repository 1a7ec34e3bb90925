import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { VENDORS } from '#vendors';
import { atOnce, call, BudgetWorkers } from './budget.harness.js';
import { type VendorPolicy } from './policy.js';
import { windowAt } from './windows.js';

const strava = VENDORS.strava.limits;

const SCALE = 900;
// A day has four windows of one second each.
const DAY_SECONDS = 4 * 900;
const DAY_LIMIT = 200;

const shortDays: VendorPolicy = {
  ...strava,
  counters: strava.counters.map((counter) =>
    counter.window === 'day' ? { ...counter, seconds: DAY_SECONDS, limit: DAY_LIMIT } : counter,
  ),
};

describe('the release of the reserve at the end of a day', () => {
  let workers: BudgetWorkers;
  beforeAll(async () => (workers = await BudgetWorkers.begin()));
  afterAll(() => workers.end());

  it('an import and a backfill that retry after each retryAfterMs use the whole day’s limit', async () => {
    // If the machine stalls for a second, calls of that day stay unused, so up to four days are tried.
    for (let days = 1; !(await isUsedWhole()); days += 1) expect(days).toBeLessThan(4);
  });

  /** True if all calls of the day were used. Every day asserts the upper limits. */
  async function isUsedWhole(): Promise<boolean> {
    const one = await workers.start({ policy: shortDays, scale: SCALE });
    const two = await workers.start({ policy: shortDays, scale: SCALE, prefix: one.prefix });
    const { endsAtMs: beginsAtMs } = windowAt(Date.now(), DAY_SECONDS, SCALE);
    const { endsAtMs } = windowAt(beginsAtMs, DAY_SECONDS, SCALE);
    await pause(beginsAtMs - Date.now());
    const grants: number[] = [];
    const releases: Array<{ notBeforeMs: number; notAfterMs: number }> = [];
    const work = async ({ budget }: typeof one, callClass: 'import' | 'backfill') => {
      while (Date.now() < endsAtMs) {
        const beforeMs = Date.now();
        const outcomes = await atOnce(10, () => budget.charge(call(callClass)));
        const afterMs = Date.now();
        const notNows = outcomes.flatMap((outcome) => ('kind' in outcome ? [outcome] : []));
        for (const outcome of outcomes) if (!('kind' in outcome)) grants.push(outcome.nowMs);
        for (const { window, retryAfterMs } of notNows)
          if (window.endsWith('day') && afterMs + retryAfterMs < endsAtMs)
            releases.push({
              notBeforeMs: beforeMs + retryAfterMs,
              notAfterMs: afterMs + retryAfterMs,
            });
        await pause(notNows[0]?.retryAfterMs ?? 0);
      }
    };
    await Promise.all([work(one, 'import'), work(two, 'backfill')]);

    const ofTheDay = grants.filter((nowMs) => nowMs >= beginsAtMs && nowMs < endsAtMs);
    expect(ofTheDay.length).toBeLessThanOrEqual(DAY_LIMIT);
    const releaseMs = endsAtMs - 1_000;
    const early = ofTheDay.filter((nowMs) => nowMs < releaseMs);
    expect(early.length).toBeLessThanOrEqual(DAY_LIMIT * 0.95);
    for (const { notBeforeMs, notAfterMs } of releases) {
      expect(notAfterMs).toBeGreaterThanOrEqual(releaseMs);
      expect(notBeforeMs).toBeLessThan(releaseMs + 150);
    }
    return ofTheDay.length === DAY_LIMIT && early.length === DAY_LIMIT * 0.95 && releases.length > 0;
  }
});
