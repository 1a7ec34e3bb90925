import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { VENDORS } from '#vendors';
import { eventually } from '../../../test/harness/eventually.js';
import { Proxy } from '../../../test/harness/proxy.js';
import { RedisServer } from '../../../test/harness/redis-server.js';
import { canShiftClocks } from '../../../test/harness/shifted-clock.js';
import { aPermit, atOnce, BudgetWorkers, call, granted, type TestWorker } from './budget.harness.js';
import { type VendorPolicy } from './policy.js';
import { type VendorBudget } from './vendor-budget.js';
import { windowAt } from './windows.js';

const LIMIT = 20;
const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

/** Windows with a boundary halfway between the clocks of Postgres and Redis, and with no other boundary near. */
function policyBetween(aheadMs: number): VendorPolicy {
  const { limits } = VENDORS.strava;
  const boundaryMs = Date.now() + aheadMs / 2;
  const seconds = boundaryMs / Math.floor(boundaryMs / (5 * Math.abs(aheadMs))) / 1_000;
  const counters = limits.counters.map((counter) => ({
    ...counter,
    seconds,
    limit: LIMIT,
    releasedForLastSeconds: 0,
  }));
  return { ...limits, counters };
}

/** Records 16 calls of the vendor's present window, which Redis' clock has left. */
async function callsInVendorsWindow({ database }: BudgetWorkers, { counters }: VendorPolicy): Promise<void> {
  const { id } = windowAt(Date.now(), counters[0]!.seconds, 1);
  await database.query(
    `insert into strava_api_requests (endpoint, class, window_id, day_id)
     select 'activity', 'live', $1, $1 from generate_series(1, 16)`,
    [id],
  );
}

const permits = async (budget: VendorBudget) =>
  granted(await atOnce(LIMIT, () => budget.requestPermit(call('live')))).length;

(canShiftClocks() ? describe : describe.skip).each([
  ['10 min ahead of', 10 * MINUTE_MS],
  ['10 min behind', -10 * MINUTE_MS],
  ['a day ahead of', DAY_MS],
  ['a day behind', -DAY_MS],
])('the clock of Redis is %s that of Postgres', (_, aheadMs) => {
  let workers: BudgetWorkers;
  let redis: RedisServer;
  let proxy: Proxy;
  beforeEach(async () => {
    [workers, redis] = await Promise.all([BudgetWorkers.begin(), RedisServer.startAhead(aheadMs)]);
    proxy = await Proxy.before(redis.url);
  });
  afterEach(async () => {
    await workers.end();
    await proxy.close();
    await redis.kill();
  });

  async function loseRedis(...all: readonly TestWorker[]): Promise<void> {
    proxy.cut();
    await eventually('the cut', () => all.every((worker) => worker.redis.status !== 'ready'));
  }

  it('while Redis is away the ledger permits the rest of the window and no call more, also in a process without an earlier call', async () => {
    const setting = { policy: policyBetween(aheadMs), url: proxy.url };
    const one = await workers.start(setting);
    const newcomer = await workers.start(setting);
    await atOnce(LIMIT - 5, () => aPermit(one.budget));
    await loseRedis(one, newcomer);
    for (const { budget } of [one, newcomer]) expect((await aPermit(budget)).keys).toEqual([]);
    expect([await permits(newcomer.budget), await permits(one.budget)]).toEqual([3, 0]);
    expect(await one.budget.requestPermit(call('live'))).toMatchObject({
      kind: 'notNow',
      window: 'read 15min',
    });
  });
});

(canShiftClocks() ? describe : describe.skip)(
  'the clock of Redis is 10 min ahead of Postgres and the vendor',
  () => {
    it.each([
      ['has met the vendor', false],
      ['has just started', true],
    ])(
      'while Redis is away the ledger counts the calls of both windows that the vendor may be in, for a process that %s',
      async (_, isNew) => {
        const aheadMs = 10 * MINUTE_MS;
        const [workers, redis] = await Promise.all([BudgetWorkers.begin(), RedisServer.startAhead(aheadMs)]);
        const proxy = await Proxy.before(redis.url);
        const policy = policyBetween(aheadMs);
        const { budget: known, redis: connection } = await workers.start({ policy, url: proxy.url });
        const newcomer = await workers.start({ policy, url: proxy.url });
        const budget = isNew ? newcomer.budget : known;
        await known.settle(await aPermit(known), 200, [], { dateMs: Math.floor(Date.now() / 1_000) * 1_000 });
        expect(Math.abs(known.clockDifferenceSeconds - aheadMs / 1_000)).toBeLessThanOrEqual(2);
        await callsInVendorsWindow(workers, policy);
        proxy.cut();
        await eventually('the cut', () =>
          [connection, newcomer.redis].every(({ status }) => status !== 'ready'),
        );
        expect(await permits(budget)).toBe(3);
        const refused = await budget.requestPermit(call('live'));
        expect(refused).toMatchObject({ kind: 'notNow', window: 'read 15min' });
        // The vendor's window ends five minutes from now, and a call is tried again then.
        const retryAfterMs = refused.kind === 'notNow' ? refused.retryAfterMs : 0;
        expect(retryAfterMs).toBeGreaterThan(4 * MINUTE_MS);
        expect(retryAfterMs).toBeLessThan(6 * MINUTE_MS);
        await workers.end();
        await proxy.close();
        await redis.kill();
      },
    );

    it('a call that the ledger permits shows the vendor’s clock, too, so that the next calls count in both windows', async () => {
      const aheadMs = 10 * MINUTE_MS;
      const [workers, redis] = await Promise.all([BudgetWorkers.begin(), RedisServer.startAhead(aheadMs)]);
      const proxy = await Proxy.before(redis.url);
      const policy = policyBetween(aheadMs);
      const { budget, redis: connection } = await workers.start({ policy, url: proxy.url });
      await budget.giveBack(await aPermit(budget));
      await callsInVendorsWindow(workers, policy);
      proxy.cut();
      await eventually('the cut', () => connection.status !== 'ready');
      await budget.settle(await aPermit(budget), 200, [], { dateMs: Math.floor(Date.now() / 1_000) * 1_000 });
      expect(await permits(budget)).toBe(3);
      await workers.end();
      await proxy.close();
      await redis.kill();
    });
  },
);
