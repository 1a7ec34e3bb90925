import { expect, it } from '@jest/globals';
import { createLogger, timeScale } from '#platform';
import { type Budgets, type Gauge, type VendorBudget } from '#rate-limit';
import { VENDORS } from '#vendors';
import { beginning } from './import-cursor.js';
import { ImportForecast } from './import-forecast.js';
import { type ImportJobs } from './import-jobs.js';

const REDIS_NOW = new Date('2026-11-18T14:00:10Z');

it('the forecast of an import counts from Redis’ time, which the ends of the windows have', async () => {
  const policy = VENDORS.strava.limits;
  const gauges = policy.counters.map(({ bucket, window, limit, seconds }): Gauge => {
    const resetsAt = new Date(Math.ceil(REDIS_NOW.getTime() / (seconds * 1_000)) * seconds * 1_000);
    return { bucket, window, used: 0, limit, remaining: limit, resetsAt };
  });
  const budget = { policy, nowMs: () => REDIS_NOW.getTime(), gauges: () => Promise.resolve(gauges) };
  const budgets = { of: () => budget as unknown as VendorBudget } as unknown as Budgets;
  const jobs = { pendingCalls: () => Promise.resolve(new Map([['ann', 1]])) } as unknown as ImportJobs;
  const logger = createLogger({ level: 'silent', process: 'test' });
  const forecast = new ImportForecast(jobs, budgets, timeScale(1), logger);
  const sync_cursor = { ...beginning, phase: 'details' } as const;
  expect(await forecast.etaOf({ athlete_id: 'ann', provider: 'strava', sync_cursor })).toEqual(REDIS_NOW);
});
