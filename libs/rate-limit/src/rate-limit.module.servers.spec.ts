import { randomUUID } from 'node:crypto';
import { Module, type INestApplicationContext } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { register } from 'prom-client';
import { type Config, DatabaseModule, HealthModule, SurroundingsModule } from '#platform';
import { eventually } from '../../../test/harness/eventually.js';
import { Proxy } from '../../../test/harness/proxy.js';
import { required } from '../../../test/harness/servers.js';
import { createTestDatabase } from '../../../test/harness/test-database.js';
import { aPermit, atOnce, call, eternal, logger, Workers } from './budget.harness.js';
import { observeBudget } from './metrics.js';
import { RateLimitModule, STRAVA_BUDGET } from './rate-limit.module.js';
import { type VendorBudget } from './vendor-budget.js';

const valueOf = async (metric: string) =>
  (await register.metrics())
    .split('\n')
    .find((line) => line.startsWith(metric))
    ?.split(' ')
    .at(-1);

describe('the metrics of a budget', () => {
  let workers: Workers;
  beforeAll(async () => (workers = await Workers.begin()));
  beforeEach(async () => {
    register.resetMetrics();
    await workers.freshLedger();
  });
  afterAll(() => workers.end());

  it('tell what is used of which limit, by asking when they are scraped', async () => {
    const { budget } = await workers.start();
    observeBudget('strava', budget);
    await atOnce(3, () => budget.acquire(call('live')));
    expect(await valueOf('vendor_budget_used{vendor="strava",bucket="read",window="15min"}')).toBe('3');
    expect(await valueOf('vendor_budget_limit{vendor="strava",bucket="overall",window="day"}')).toBe('1000');
  });

  it('count the requests, the 429s, and what was refused', async () => {
    const { budget } = await workers.start({ policy: eternal({ '15min': 2, day: 10 }) });
    await budget.settle(await aPermit(budget), 0, []);
    await budget.settle(await aPermit(budget), 429, []);
    await budget.acquire(call('live'));
    const labels = 'vendor="strava",endpoint="activity",class="live"';
    expect(await valueOf(`vendor_requests_total{${labels},status="no_answer"}`)).toBe('1');
    expect(await valueOf(`vendor_requests_total{${labels},status="429"}`)).toBe('1');
    expect(await valueOf('vendor_rate_limited_total{vendor="strava"}')).toBe('1');
    const refusals = 'vendor_budget_refusals_total{vendor="strava",class="live",window="read 15min"}';
    expect(await valueOf(refusals)).toBe('1');
  });

  it('leave out what they cannot ask, and answer all the same, while Redis is frozen', async () => {
    const proxy = await Proxy.before(required('REDIS_URL'));
    const { budget, redis } = await workers.start({ url: proxy.url });
    redis.options.commandTimeout = 1_000;
    observeBudget('strava', budget);
    await aPermit(budget);
    proxy.freeze();
    expect(await valueOf('vendor_budget_used{')).toBeUndefined();
    await proxy.close();
  });
});

describe('RateLimitModule', () => {
  let app: INestApplicationContext;
  let proxy: Proxy;
  let database: Awaited<ReturnType<typeof createTestDatabase>>;
  beforeAll(async () => {
    database = await createTestDatabase();
    proxy = await Proxy.before(required('REDIS_URL'));
    const config = {
      timeScale: 900,
      database: { url: database.url },
      redis: { url: proxy.url, keyPrefix: `t:${randomUUID()}:` },
    } as Config;
    @Module({
      imports: [
        SurroundingsModule.with(config, logger),
        HealthModule,
        DatabaseModule.with({ applicationName: 'test', poolSize: 2, statementTimeoutMs: 5_000 }, []),
        RateLimitModule,
      ],
    })
    class TestModule {}
    app = await NestFactory.createApplicationContext(TestModule, { logger: false });
  });
  afterAll(async () => {
    await proxy.close();
    await database.drop();
  });

  it('gives a budget that outlives the absence of Redis, and is closed with the process', async () => {
    const budget = app.get<VendorBudget>(STRAVA_BUDGET);
    const kind = async (callClass: 'live' | 'import') =>
      (await budget.acquirePatiently(call(callClass), { waitMs: 1_000 })).kind;
    await eventually('the first permit', async () => (await kind('import')) === 'granted');
    proxy.cut();
    await eventually('the cut', async () => (await kind('import')) === 'unavailable');
    expect(await kind('live')).toBe('granted');
    proxy.heal();
    await eventually('the budget again', async () => (await kind('import')) === 'granted');
    await app.close();
    expect(await kind('import')).toBe('unavailable');
  });
});
