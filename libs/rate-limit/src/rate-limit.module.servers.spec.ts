import { randomUUID } from 'node:crypto';
import { Module, type INestApplicationContext } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { register } from 'prom-client';
import { type Config, DatabaseModule, HealthModule, SurroundingsModule } from '#platform';
import { VENDORS } from '#vendors';
import { eventually } from '../../../test/harness/eventually.js';
import { Proxy } from '../../../test/harness/proxy.js';
import { required } from '../../../test/harness/servers.js';
import { createTestDatabase } from '../../../test/harness/test-database.js';
import { aPermit, atOnce, call, policyWithoutBoundaries, logger, BudgetWorkers } from './budget.harness.js';
import { observeBudget } from './metrics.js';
import { Budgets } from './budgets.js';
import { RateLimitModule } from './rate-limit.module.js';

const strava = VENDORS.strava.limits;

const valueOf = async (metric: string) =>
  (await register.metrics())
    .split('\n')
    .find((line) => line.startsWith(metric))
    ?.split(' ')
    .at(-1);

describe('the metrics of a budget', () => {
  let workers: BudgetWorkers;
  beforeAll(async () => (workers = await BudgetWorkers.begin()));
  beforeEach(async () => {
    register.resetMetrics();
    await workers.resetLedger();
  });
  afterAll(() => workers.end());

  it('vendor_budget_used and vendor_budget_limit are read from Redis at each scrape', async () => {
    const { budget } = await workers.start();
    observeBudget('strava', budget);
    await atOnce(3, () => budget.requestPermit(call('live')));
    expect(await valueOf('vendor_budget_used{vendor="strava",bucket="read",window="15min"}')).toBe('3');
    expect(await valueOf('vendor_budget_limit{vendor="strava",bucket="overall",window="day"}')).toBe('1000');
  });

  it('the budget’s metrics count requests by status, answers with 429, and refusals', async () => {
    const { budget } = await workers.start({ policy: policyWithoutBoundaries({ '15min': 2, day: 10 }) });
    await budget.settle(await aPermit(budget), 0, []);
    await budget.settle(await aPermit(budget), 429, []);
    await budget.requestPermit(call('live'));
    const labels = 'vendor="strava",endpoint="activity",class="live"';
    expect(await valueOf(`vendor_requests_total{${labels},status="no_answer"}`)).toBe('1');
    expect(await valueOf(`vendor_requests_total{${labels},status="429"}`)).toBe('1');
    expect(await valueOf('vendor_rate_limited_total{vendor="strava"}')).toBe('1');
    const refusals = 'vendor_budget_refusals_total{vendor="strava",class="live",window="read 15min"}';
    expect(await valueOf(refusals)).toBe('1');
  });

  it('vendor_budget_used is absent and the scrape succeeds while Redis is frozen', async () => {
    const proxy = await Proxy.before(required('REDIS_URL'));
    const { budget } = await workers.start({ url: proxy.url, commandTimeout: 1_000 });
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
        RateLimitModule.for([strava]),
      ],
    })
    class TestModule {}
    app = await NestFactory.createApplicationContext(TestModule, { logger: false });
  });
  afterAll(async () => {
    await proxy.close();
    await database.drop();
  });

  it('RateLimitModule provides a budget for each policy and a share for each purpose, and no other', () => {
    const budgets = app.get(Budgets);
    expect(budgets.all().map(({ policy }) => policy)).toEqual([strava]);
    expect(budgets.share('strava', 'reconciliation').purpose).toBe('reconciliation');
    expect(() => budgets.of('garmin')).toThrow('garmin has no budget');
    expect(() => budgets.share('strava', 'fun')).toThrow('strava has no share for fun');
  });

  it('RateLimitModule’s budget recovers when Redis returns, and gives no permit after the shutdown', async () => {
    const budget = app.get(Budgets).of('strava');
    const kind = async (callClass: 'live' | 'import') =>
      (await budget.waitForPermit(call(callClass), { waitMs: 1_000 })).kind;
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
