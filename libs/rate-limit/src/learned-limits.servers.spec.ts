import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { eventually } from '../../../test/harness/eventually.js';
import { Proxy } from '../../../test/harness/proxy.js';
import { required } from '../../../test/harness/servers.js';
import { type VendorCall, type Permit } from './permit.js';
import {
  aPermit,
  atOnce,
  call,
  CLASSES,
  forget,
  granted,
  type TestWorker,
  BudgetWorkers,
} from './budget.harness.js';
import { type Usage } from './rate-headers.js';
import { type VendorBudget } from './vendor-budget.js';

// The policy of the harness says 100 in 15 minutes, 1,000 in a day.
const LOWERED = 10;
const USED = 4;

const usage = (limit: number, window: '15min' | 'day' = '15min'): Usage[] => [
  { bucket: 'read', window, limit, used: 1 },
];

describe('learned limits', () => {
  let workers: BudgetWorkers;
  beforeAll(async () => (workers = await BudgetWorkers.begin()));
  beforeEach(() => workers.resetLedger());
  afterAll(() => workers.end());

  /** Requests more permits than the limit allows, in every class and from all budgets at once. Returns how many were granted. */
  async function grantedBy(
    budgets: readonly VendorBudget[],
    more: Partial<VendorCall> = {},
  ): Promise<number> {
    const answers = await atOnce(180, (n) =>
      budgets[n % budgets.length]!.requestPermit(call(CLASSES[n % CLASSES.length]!, more)),
    );
    return granted(answers).length;
  }

  /** Starts three workers and makes `USED` calls; the answer to the first call reports the lowered limit. */
  async function someOfALoweredLimitUsed(
    window: '15min' | 'day' = '15min',
  ): Promise<[TestWorker, TestWorker, TestWorker]> {
    const one = await workers.start();
    const others = [
      await workers.start({ prefix: one.prefix }),
      await workers.start({ prefix: one.prefix }),
    ] as const;
    for (const { budget } of [one, ...others, one])
      await budget.settle(await aPermit(budget), 200, usage(LOWERED, window));
    return [one, ...others];
  }

  const budgetsOf = (those: readonly TestWorker[]) => those.map(({ budget }) => budget);

  it.each(['15min', 'day'] as const)(
    'every worker keeps a lowered limit of %s, partly used, when Redis is flushed',
    async (window) => {
      const three = await someOfALoweredLimitUsed(window);
      await forget(three[0].redis, three[0].prefix);
      expect(await grantedBy(budgetsOf(three))).toBe(LOWERED - USED);
      await forget(three[0].redis, three[0].prefix);
      expect(await grantedBy(budgetsOf(three))).toBe(0);
    },
  );

  it('a process that starts after a flush makes no call when the lowered limit is used up', async () => {
    const three = await someOfALoweredLimitUsed();
    await grantedBy(budgetsOf(three));
    await forget(three[0].redis, three[0].prefix);
    const newcomer = await workers.start({ prefix: three[0].prefix });
    expect(await grantedBy([newcomer.budget])).toBe(0);
  });

  it('a process with another Redis knows the lowered limit', async () => {
    await someOfALoweredLimitUsed();
    const elsewhere = await workers.start();
    expect(await grantedBy([elsewhere.budget])).toBe(LOWERED - USED);
    expect((await elsewhere.budget.gauges())[0]).toMatchObject({ limit: LOWERED, remaining: 0 });
  });

  it('a process that is cut off before it reads Redis keeps the lowered limit by the ledger alone', async () => {
    await someOfALoweredLimitUsed();
    const proxy = await Proxy.before(required('REDIS_URL'));
    const cutOff = await workers.start({ url: proxy.url });
    proxy.cut();
    await eventually('the cut', () => cutOff.redis.status !== 'ready');
    const answers = await atOnce(20, () => cutOff.budget.requestPermit(call('live')));
    expect(granted(answers)).toHaveLength(LOWERED - USED);
    await proxy.close();
  });

  it('a limit lowered while one worker is cut off from Redis is kept by a connected worker', async () => {
    const proxy = await Proxy.before(required('REDIS_URL'));
    const cutOff = await workers.start({ url: proxy.url });
    const other = await workers.start({ prefix: cutOff.prefix });
    await aPermit(other.budget);
    const permit = await aPermit(cutOff.budget);
    proxy.cut();
    await eventually('the cut', () => cutOff.redis.status !== 'ready');
    await cutOff.budget.settle(permit, 200, usage(LOWERED));
    expect(await grantedBy([other.budget])).toBe(LOWERED - 2);
    proxy.heal();
    await proxy.close();
  });

  it('a permit given under the old limit is not recorded after the vendor reported a new one', async () => {
    const one = await workers.start();
    const other = await workers.start({ prefix: one.prefix });
    const permit = await aPermit(one.budget);
    await aPermit(other.budget);
    // Charged to the counters and not recorded yet.
    const early = (await other.budget.charge(call('live'))) as Permit;
    await one.budget.settle(permit, 200, usage(2));
    expect(await grantedBy(budgetsOf([one, other]))).toBe(0);
    await other.budget.giveBack({ ...early, ledgerId: '0' });
    expect(await grantedBy(budgetsOf([one, other]))).toBe(0);
  });

  it('a raised limit opens a full window for every worker, and the limit is kept when Redis is flushed', async () => {
    const one = await workers.start();
    const other = await workers.start({ prefix: one.prefix });
    await one.budget.settle(await aPermit(one.budget), 200, usage(LOWERED));
    const last = await aPermit(one.budget);
    expect(await grantedBy(budgetsOf([one, other]))).toBe(LOWERED - 2);
    await one.budget.settle(last, 200, usage(40));
    expect(await grantedBy([other.budget])).toBe(40 - LOWERED);
    await forget(one.redis, one.prefix);
    expect(await grantedBy(budgetsOf([one, other]))).toBe(0);
    expect((await other.budget.gauges())[0]).toMatchObject({ limit: 40, used: 40 });
  });

  it('a late answer to a call made before a limit was lowered does not raise the limit again', async () => {
    const one = await workers.start();
    const late = await aPermit(one.budget);
    await one.budget.settle(await aPermit(one.budget), 200, usage(LOWERED));
    await one.budget.settle(late, 200, usage(100));
    expect(await grantedBy([one.budget])).toBe(LOWERED - 2);
  });

  it('an answer to a call made before a flush still lowers a limit', async () => {
    const { budget, redis, prefix } = await workers.start();
    const before = await aPermit(budget);
    await forget(redis, prefix);
    await aPermit(budget);
    await budget.settle(before, 200, usage(LOWERED));
    expect(await grantedBy([budget])).toBe(LOWERED - 2);
  });

  it('an answer that reports the known limits begins no new epoch', async () => {
    const { budget } = await workers.start();
    await budget.settle(await aPermit(budget), 200, usage(50));
    await aPermit(budget);
    const epoch = async () =>
      (await workers.database.query("select epoch from vendor_budget_epoch where vendor = 'strava'")).rows;
    const before = await epoch();
    for (let n = 0; n < 20; n += 1) await budget.settle(await aPermit(budget), 200, usage(50));
    expect(await epoch()).toEqual(before);
  });
});
