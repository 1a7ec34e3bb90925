import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { loadSql } from '#platform';
import { plansOf, waysInto } from '../../../test/harness/plans.js';
import { BudgetWorkers } from './budget.harness.js';
import { counter, DAY_SECONDS } from './policy.js';

const DAY_MS = 86_400_000;
const BUCKET_MS = 900_000;
const CALLS = 200_000;

describe('the traffic of the last 24 hours, with 200,000 calls in them and 600,000 before', () => {
  let workers: BudgetWorkers;
  const write = (count: number, hoursAgo: number, spreadHours: number) =>
    workers.database.query(
      `insert into strava_api_requests (endpoint, class, window_id, day_id, status, requested_at)
       select
         'streams', (array['live', 'import', 'backfill'])[1 + n % 3], 1, 1, case when n % 100 = 0 then 429 else 200 end,
         now() - ($2::float8 + n * $3::float8 / $1) * interval '1 hour'
       from generate_series(1, $1::int) n`,
      [count, hoursAgo, spreadHours],
    );

  beforeAll(async () => {
    workers = await BudgetWorkers.begin();
    // A statement has five seconds.
    for (let day = 0; day < 12; day += 1) await write(CALLS / 4, 24.5 + day * 12, 12);
    for (let part = 0; part < 4; part += 1) await write(CALLS / 4, (part * 23.5) / 4, 23.5 / 4);
    await workers.database.query('vacuum analyze strava_api_requests');
  }, 120_000);
  afterAll(() => workers.end());

  it('traffic counts every call once, by class, in 96 buckets whose last one contains the present', async () => {
    const { budget } = await workers.start();
    const { from, to, bucket_ms, buckets } = await budget.traffic();
    expect(bucket_ms).toBe(BUCKET_MS);
    expect(buckets).toHaveLength(96);
    expect(to.getTime() - from.getTime()).toBe(DAY_MS);
    expect(Math.abs(Date.now() - to.getTime())).toBeLessThanOrEqual(BUCKET_MS);
    expect(buckets.map(({ at }) => at.getTime())).toEqual(
      Array.from({ length: 96 }, (_, index) => from.getTime() + index * BUCKET_MS),
    );
    const sum = (name: 'live' | 'import' | 'backfill' | 'rate_limited') =>
      buckets.reduce((all, bucket) => all + bucket[name], 0);
    expect(sum('live') + sum('import') + sum('backfill')).toBe(CALLS);
    expect(sum('rate_limited')).toBe(CALLS / 100);
    expect(sum('live')).toBeGreaterThan(CALLS / 4);
  });

  it('traffic takes the tightest window below a day as the limit of a bucket', async () => {
    const { budget } = await workers.start({
      policy: {
        vendor: 'strava',
        slots: 1,
        atLimit: 'fail',
        counters: [
          counter({ window: 'minute', seconds: 60, limit: 100, key: 'a' }),
          counter({ window: '30min', seconds: 1_800, limit: 1_000, key: 'b' }),
          counter({ window: 'day', seconds: DAY_SECONDS, limit: 10, key: 'c' }),
        ],
      },
    });
    // 100 calls a minute are 1,500 in a bucket, and 1,000 in half an hour are 500.
    expect((await budget.traffic()).buckets[0]!.limit).toBe(500);
  });

  it('traffic divides the 24 hours and the buckets by TIME_SCALE', async () => {
    const { budget } = await workers.start({ scale: 900 });
    const { from, to, bucket_ms, buckets } = await budget.traffic();
    expect([bucket_ms, buckets.length, to.getTime() - from.getTime()]).toEqual([1_000, 96, 96_000]);
    const calls = buckets.reduce((all, bucket) => all + bucket.live + bucket.import + bucket.backfill, 0);
    // 96 of 84,600 seconds.
    expect(calls).toBeGreaterThan(100);
    expect(calls).toBeLessThan(300);
  });

  it('traffic reads the calls by the index on their time', async () => {
    const to = new Date();
    const values = [new Date(to.getTime() - DAY_MS).toISOString(), to.toISOString(), BUCKET_MS / 1_000];
    const { text } = loadSql(import.meta.url, './sql/count-buckets.sql');
    for (const plan of await plansOf(workers.database, text, values))
      expect(waysInto('strava_api_requests', plan)).toEqual(['strava_api_requests_requested_at']);
  });

  it('traffic of 200,000 calls takes less than half a second on a busy machine', async () => {
    const { budget } = await workers.start();
    const times: number[] = [];
    for (let n = 0; n < 5; n += 1) {
      const startedAt = performance.now();
      await budget.traffic();
      times.push(performance.now() - startedAt);
    }
    console.log(`traffic of ${CALLS} calls: ${times.map(Math.round).join(', ')} ms`);
    expect(Math.min(...times)).toBeLessThan(500);
  });
});
