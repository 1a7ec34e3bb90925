import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { eventually } from '../../../test/harness/eventually.js';
import { Proxy } from '../../../test/harness/proxy.js';
import { required } from '../../../test/harness/servers.js';
import {
  aPermit,
  atOnce,
  begunByRequests,
  call,
  forget,
  granted,
  type TestWorker,
  BudgetWorkers,
} from './budget.harness.js';
import { type Permit, type PermitOutcome } from './permit.js';
import { type Usage } from './rate-headers.js';

const policy = begunByRequests;
const QUARTER_MS = 900_000;
const DAY_MS = 86_400_000;
const KEY = 'strava:rate:limits';
// Far more than a busy machine needs for a call.
const NEAR_MS = 60_000;
// Longer than the guard of a scaled window.
const SLOW_FIRST_MS = 300;

describe('windows that begin with a request', () => {
  let workers: BudgetWorkers;
  beforeAll(async () => (workers = await BudgetWorkers.begin()));
  beforeEach(() => workers.resetLedger());
  afterAll(() => workers.end());

  const start = (prefix?: string) => workers.start({ policy, prefix });
  const gaugesOf = async ({ budget }: TestWorker) =>
    Object.fromEntries(
      (await budget.gauges()).map((gauge) => [`${gauge.bucket} ${gauge.window}`, gauge] as const),
    );
  /** Requests a permit, and again each time the ledger does not answer in time, which happens on a busy machine. */
  const decided = async (worker: TestWorker): Promise<PermitOutcome> => {
    const outcome = await worker.budget.requestPermit(call('live'));
    return outcome.kind === 'unavailable' ? decided(worker) : outcome;
  };
  const usedBy = async (worker: TestWorker) => (await worker.budget.gauges()).map(({ used }) => used);
  const endOf = async (worker: TestWorker, name: string) =>
    Number((await gaugesOf(worker))[name]?.resetsAt) - Date.now();
  const near = (ms: number, expectedMs: number) => expect(Math.abs(ms - expectedMs)).toBeLessThan(NEAR_MS);

  /** Moves the start of the 15-minute windows into the past, and that of the days too if `day` is given. */
  async function age({ redis }: TestWorker, quarterMs: number, dayMs = 0): Promise<void> {
    const [read, readDay, overall, overallDay, ...windows] = String(await redis.get(KEY)).split(' ');
    const aged = windows.map((window, index) =>
      window.replace(/@(\d+)/, (_, at) => `@${Number(at) - (index % 2 ? dayMs : quarterMs)}`),
    );
    await redis.set(KEY, [read, readDay, overall, overallDay, ...aged].join(' '));
  }

  it('a window begins with its first call for every worker, and is not aligned to the clock', async () => {
    const one = await start();
    const other = await start(one.prefix);
    const first = await aPermit(one.budget);
    await age(one, 300_000);
    const second = await aPermit(other.budget);
    expect(second.keys).toEqual(first.keys);
    near(await endOf(other, 'read 15min'), QUARTER_MS - 300_000);
    near(await endOf(one, 'overall day'), DAY_MS);
    expect(await usedBy(one)).toEqual([2, 2, 2, 2]);
  });

  it('a window without a call has all its calls left, and its reset is one length away', async () => {
    const worker = await start();
    await aPermit(worker.budget);
    await age(worker, 2 * QUARTER_MS);
    expect(await usedBy(worker)).toEqual([0, 1, 0, 1]);
    near(await endOf(worker, 'read 15min'), QUARTER_MS);
  });

  it.each([
    ['just before', -1_000],
    ['just after', 1_000],
  ])(
    'a call %s the end of the window is delayed until no call can count in the old window',
    async (_, pastMs) => {
      const worker = await start();
      await aPermit(worker.budget);
      await age(worker, QUARTER_MS + pastMs);
      const outcome = await worker.budget.requestPermit(call('live'));
      expect(outcome).toMatchObject({ kind: 'notNow', window: 'boundary' });
      // The request of the first call may have taken up to three guards of 2 s.
      const { retryAfterMs } = outcome as { retryAfterMs: number };
      expect(retryAfterMs).toBeLessThanOrEqual(6_000 - pastMs);
      expect(retryAfterMs).toBeGreaterThan(0);
    },
  );

  it('the call after a window’s end begins the next window of that counter only', async () => {
    const worker = await start();
    await atOnce(3, () => worker.budget.requestPermit(call('live')));
    await age(worker, QUARTER_MS + 10_000, 3_600_000);
    await aPermit(worker.budget);
    expect(await usedBy(worker)).toEqual([1, 4, 1, 4]);
    near(await endOf(worker, 'read 15min'), QUARTER_MS);
    near(await endOf(worker, 'read day'), DAY_MS - 3_600_000);
  });

  it('calls of two workers at the end of a window begin one next window, and share its limit', async () => {
    const one = await start();
    const two = await start(one.prefix);
    await aPermit(one.budget);
    await age(one, QUARTER_MS + 10_000);
    const outcomes = await atOnce(150, (n) => decided(n % 2 ? one : two));
    expect(outcomes.map(({ kind }) => kind).sort()).toEqual([
      ...Array.from({ length: 100 }, () => 'granted'),
      ...Array.from({ length: 50 }, () => 'notNow'),
    ]);
    expect(await usedBy(two)).toEqual([100, 101, 100, 101]);
  });

  it('the call after a given-back first call begins the window anew, and a window with another call stays', async () => {
    const worker = await start();
    await worker.budget.giveBack(await aPermit(worker.budget));
    await age(worker, 300_000, 300_000);
    const [first] = [await aPermit(worker.budget), await aPermit(worker.budget)];
    near(await endOf(worker, 'read 15min'), QUARTER_MS);
    near(await endOf(worker, 'read day'), DAY_MS);
    await age(worker, 300_000);
    await worker.budget.giveBack(first);
    await aPermit(worker.budget);
    near(await endOf(worker, 'read 15min'), QUARTER_MS - 300_000);
    expect(await usedBy(worker)).toEqual([2, 2, 2, 2]);
  });

  it('the counts and ends of open windows are rebuilt from the ledger after Redis lost them', async () => {
    const worker = await start();
    await atOnce(60, () => worker.budget.requestPermit(call('live')));
    await workers.database.query(
      'update strava_api_requests set window_id = window_id - 300000, day_id = day_id - 300000',
    );
    await forget(worker.redis, worker.prefix);
    const newcomer = await start(worker.prefix);
    expect(granted(await atOnce(60, () => newcomer.budget.requestPermit(call('live'))))).toHaveLength(40);
    near(await endOf(newcomer, 'read 15min'), QUARTER_MS - 300_000);
    near(await endOf(newcomer, 'read day'), DAY_MS - 300_000);
    expect(await usedBy(worker)).toEqual([100, 100, 100, 100]);
  });

  it('windows that ended before Redis lost them are not rebuilt, and the next call begins new ones', async () => {
    const worker = await start();
    await aPermit(worker.budget);
    await workers.database.query('update strava_api_requests set window_id = window_id - 1000000');
    await forget(worker.redis, worker.prefix);
    const newcomer = await start(worker.prefix);
    await aPermit(newcomer.budget);
    expect(await usedBy(newcomer)).toEqual([1, 2, 1, 2]);
  });

  it('the ledger permits live calls within the open window while Redis is away', async () => {
    const proxy = await Proxy.before(required('REDIS_URL'));
    const cutOff = await workers.start({ policy, url: proxy.url });
    const other = await start(cutOff.prefix);
    await atOnce(98, () => other.budget.requestPermit(call('live')));
    await aPermit(cutOff.budget);
    proxy.cut();
    await eventually('the cut', () => cutOff.redis.status !== 'ready');
    await aPermit(cutOff.budget);
    expect(await cutOff.budget.requestPermit(call('live'))).toMatchObject({ window: 'read 15min' });
    expect(await other.budget.requestPermit(call('live'))).toMatchObject({ window: 'read 15min' });
    near(await endOf(other, 'read 15min'), QUARTER_MS);
    proxy.heal();
    await eventually('the connection again', () => cutOff.redis.status === 'ready');
    await proxy.close();
  });

  it('the ledger begins windows while Redis is away, and Redis gets them afterwards', async () => {
    const proxy = await Proxy.before(required('REDIS_URL'));
    const cutOff = await workers.start({ policy, url: proxy.url });
    proxy.cut();
    await eventually('the cut', () => cutOff.redis.status !== 'ready');
    await aPermit(cutOff.budget);
    await aPermit(cutOff.budget);
    const other = await start(cutOff.prefix);
    await aPermit(other.budget);
    expect(await usedBy(other)).toEqual([3, 3, 3, 3]);
    proxy.heal();
    await eventually('the connection again', () => cutOff.redis.status === 'ready');
    await proxy.close();
  });

  const reporting = (resets: Partial<Record<string, number>>, used = 1): Usage[] =>
    policy.counters.map(({ bucket, window, limit }) => ({
      bucket,
      window,
      limit,
      used,
      resetsInSeconds: resets[window],
    }));

  it.each([
    ['later', { '15min': 800, day: 80_000 }],
    ['earlier', { '15min': 60, day: 6_000 }],
  ])(
    'a reset that the vendor reports as %s than ours moves the windows of every worker',
    async (_, resets) => {
      const one = await start();
      const other = await start(one.prefix);
      const permits = [await aPermit(one.budget), await aPermit(other.budget)];
      await age(one, 600_000, 43_200_000);
      await one.budget.settle(permits[0]!, 200, reporting(resets, 7));
      // The first worker still has the windows from before they were aged: Redis refuses its correction.
      await aPermit(one.budget);
      await one.budget.settle(permits[0]!, 200, reporting(resets, 7));
      await aPermit(other.budget);
      near(await endOf(other, 'read 15min'), resets['15min'] * 1_000);
      near(await endOf(other, 'overall day'), resets.day * 1_000);
    },
  );

  it('a reset that agrees with ours to the second, or exceeds the window’s length, moves no window', async () => {
    const worker = await start();
    const permit = await aPermit(worker.budget);
    await worker.budget.settle(permit, 200, reporting({ '15min': 900, day: 86_400 }));
    const answered = await worker.redis.get(KEY);
    await worker.budget.settle(permit, 200, reporting({ '15min': 900, day: 86_400 }));
    await worker.budget.settle(permit, 200, reporting({ '15min': 4_000, day: 500_000 }));
    expect(await worker.redis.get(KEY)).toBe(answered);
  });

  it('the first answer shows how late a window can end, and later answers change nothing', async () => {
    const worker = await start();
    const [first, second] = [await aPermit(worker.budget), await aPermit(worker.budget)];
    const late = async () => String(await worker.redis.get(KEY)).match(/\+\d+\??/g);
    expect(await late()).toEqual(Array.from({ length: 4 }, () => '+6000?'));
    await worker.budget.settle(first, 200, []);
    expect(await late()).toEqual(Array.from({ length: 4 }, () => '+6000?'));
    await worker.budget.settle(second, 200, reporting({}));
    const shown = await late();
    expect(shown?.every((one) => Number.parseInt(one.slice(1)) >= 2_000 && !one.endsWith('?'))).toBe(true);
    await worker.budget.settle(first, 200, reporting({}));
    expect(await late()).toEqual(shown);
  });

  it('a 429 keeps the charge to both windows, and closes the used-up window until its reported reset', async () => {
    const worker = await start();
    const permit = await aPermit(worker.budget);
    const report = reporting({ '15min': 120, day: 50_000 }).map((usage) =>
      usage.window === '15min' ? { ...usage, used: 101 } : { ...usage, used: 40 },
    );
    const closed = await worker.budget.settle(permit, 429, report);
    expect(closed).toMatchObject({ window: 'read 15min' });
    near(closed?.retryAfterMs ?? 0, 120_000);
    expect(await usedBy(worker)).toEqual([101, 40, 101, 40]);
    const later = await worker.budget.requestPermit(call('live'));
    expect(later).toMatchObject({ kind: 'notNow', window: 'read 15min' });
    near((later as { retryAfterMs: number }).retryAfterMs, 120_000);
  });

  it('a limit that grows with the vendor’s users applies within the open window', async () => {
    const worker = await start();
    const permit = await aPermit(worker.budget);
    const grown = reporting({}).map((usage) => ({ ...usage, limit: usage.limit + 20 }));
    await worker.budget.settle(permit, 200, grown);
    expect(granted(await atOnce(150, () => worker.budget.requestPermit(call('live'))))).toHaveLength(119);
    near(await endOf(worker, 'read 15min'), QUARTER_MS);
  });

  it('the vendor never counts more than its limit if the request that begins a window takes longer than the guard', async () => {
    const scale = 900;
    const vendor = new LateVendor(QUARTER_MS / scale);
    const { budget } = await workers.start({ policy, scale });
    const begun = new Set<number>();
    const send = async (permit: Permit) => {
      if (!budget.isFresh(permit)) return budget.giveBack(permit);
      const [{ id } = { id: 0 }] = permit.windows;
      // A quick request begins every other window, and would count in the window before if that were still open.
      if (!begun.has(id) && begun.add(id).size % 2) await pause(SLOW_FIRST_MS);
      vendor.receive(0);
      return budget.settle(permit, 200, reporting({}));
    };
    // On a busy machine most permits are stale before their turn, so few calls are sent. The windows of windows-model.spec.ts do become full.
    while (vendor.windows < 5)
      for (const permit of granted(await atOnce(20, () => budget.requestPermit(call('live')))))
        await send(permit);
    expect(vendor.fullest).toBeLessThanOrEqual(100);
  });

  it('the vendor never counts more than its limit while calls are late or given back and Redis is flushed', async () => {
    const scale = 900;
    const vendor = new LateVendor(QUARTER_MS / scale);
    const one = await workers.start({ policy, scale });
    const two = await workers.start({ policy, scale, prefix: one.prefix });
    const endsAtMs = Date.now() + 4_500;
    let calls = 0;
    const hammer = async ({ budget, redis, prefix }: TestWorker, lateMs: number) => {
      while (Date.now() < endsAtMs) {
        calls += 1;
        if (calls === 300) await forget(redis, prefix);
        const answer = await budget.requestPermit(call('live'));
        if (answer.kind !== 'granted') continue;
        const isSent = budget.isFresh(answer.permit) && calls % 7 > 0;
        if (isSent) vendor.receive(lateMs);
        else await budget.giveBack(answer.permit);
      }
    };
    await Promise.all([hammer(one, 45), hammer(one, 0), hammer(two, 45), hammer(two, 0)]);
    expect(vendor.fullest).toBeLessThanOrEqual(100);
    expect(vendor.windows).toBeGreaterThanOrEqual(3);
  });
});

/** Counts calls in windows that begin with the first call to arrive. */
class LateVendor {
  fullest = 0;
  windows = 0;
  private endsAtMs = 0;
  private used = 0;

  constructor(private readonly lengthMs: number) {}

  receive(lateMs: number): void {
    const nowMs = Date.now() + lateMs;
    if (nowMs >= this.endsAtMs) {
      this.endsAtMs = nowMs + this.lengthMs;
      this.windows += 1;
      this.used = 0;
    }
    this.used += 1;
    this.fullest = Math.max(this.fullest, this.used);
  }
}
