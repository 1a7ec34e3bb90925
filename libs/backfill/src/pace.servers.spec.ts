import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { createLogger, createRedis, type RedisClient, timeScale } from '#platform';
import { type Budgets, type Gauge, type VendorBudget } from '#rate-limit';
import { VENDORS } from '#vendors';
import { required } from '../../../test/harness/servers.js';
import { Pace } from './pace.js';

const NOW = new Date('2026-11-18T14:00:10Z');
const HOUR_MS = 3_600_000;

let redis: RedisClient;
beforeEach(() => {
  const logger = createLogger({ level: 'silent', process: 'test' });
  redis = createRedis({ url: required('REDIS_URL'), keyPrefix: `t:${randomUUID()}:` }, logger);
});
afterEach(() => redis.disconnect());

/** The budget of each vendor that allows a call in the present window, with Strava's windows. */
function pace(): Pace {
  const policy = VENDORS.strava.limits;
  const gauges = policy.counters.map(({ limit }): Partial<Gauge> => ({
    used: 0,
    limit,
    resetsAt: new Date(NOW.getTime() + HOUR_MS),
  }));
  const nowMs = () => NOW.getTime();
  const budget = { policy, nowMs, gauges: () => Promise.resolve(gauges) } as unknown as VendorBudget;
  const budgets = { of: () => budget } as unknown as Budgets;
  return new Pace(redis, budgets, timeScale(1));
}

it('a backfill waits for its turn at its own vendor, not for the turns at another', async () => {
  const one = pace();
  const signal = new AbortController().signal;
  await one.waitForTurn('strava', signal);
  await one.waitForTurn('oura', signal);
  const turns = await Promise.all(
    ['strava', 'oura'].map((vendor) => redis.exists(`${vendor}:stream_backfill:next`)),
  );
  expect(turns).toEqual([1, 1]);
  const late = new AbortController();
  const waiting = one.waitForTurn('strava', late.signal);
  await one.waitForTurn('whoop', signal);
  late.abort();
  await expect(waiting).rejects.toThrow();
});
