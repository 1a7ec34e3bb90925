import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { VENDORS } from '#vendors';
import { eventually } from '../../../test/harness/eventually.js';
import { Proxy } from '../../../test/harness/proxy.js';
import { required } from '../../../test/harness/servers.js';
import {
  aPermit,
  atOnce,
  call,
  CLASSES,
  policyWithoutBoundaries,
  forget,
  granted,
  BudgetWorkers,
} from './budget.harness.js';
import { type Usage } from './rate-headers.js';
import { windowAt } from './windows.js';

const strava = VENDORS.strava.limits;

const policy = policyWithoutBoundaries({ '15min': 100, day: 1_000 });
const [quarterEndMs, dayEndMs] = policy.counters.map(
  ({ seconds }) => windowAt(Date.now(), seconds, 1).endsAtMs,
) as [number, number];

const headers = (used: Partial<Record<string, number>>): Usage[] =>
  policy.counters.map(({ bucket, window, limit }) => ({
    bucket,
    window,
    limit,
    used: used[`${bucket} ${window}`] ?? 1,
  }));

describe('a window closed by a 429', () => {
  let workers: BudgetWorkers;
  beforeAll(async () => (workers = await BudgetWorkers.begin()));
  beforeEach(() => workers.resetLedger());
  afterAll(() => workers.end());

  const outcomes = async (budget: Awaited<ReturnType<BudgetWorkers['start']>>['budget']) =>
    Promise.all(CLASSES.map((callClass) => budget.requestPermit(call(callClass))));
  const notNowBy = (window: string) => CLASSES.map(() => expect.objectContaining({ kind: 'notNow', window }));

  it.each([
    ['the read day if the headers report it used up', { 'read day': 1_000 }, 'read day', dayEndMs],
    ['the overall day if the headers report it used up', { 'overall day': 1_001 }, 'overall day', dayEndMs],
    ['the longer of two windows used up', { 'read 15min': 100, 'read day': 1_000 }, 'read day', dayEndMs],
    [
      '15 minutes if the headers report them used up',
      { 'overall 15min': 120 },
      'overall 15min',
      quarterEndMs,
    ],
    ['15 minutes if the headers report no window used up', {}, 'read 15min', quarterEndMs],
    ['15 minutes if there are no rate headers', undefined, 'read 15min', quarterEndMs],
  ] as const)('a 429 closes %s, for every class and worker', async (_, used, window, endsAtMs) => {
    const one = await workers.start();
    const other = await workers.start({ prefix: one.prefix });
    const closed = await one.budget.settle(await aPermit(one.budget), 429, used ? headers(used) : []);
    expect(closed).toMatchObject({ kind: 'notNow', window });
    expect(Math.abs(Date.now() + (closed?.retryAfterMs ?? 0) - endsAtMs)).toBeLessThan(60_000);
    expect(await outcomes(one.budget)).toEqual(notNowBy(window));
    expect(await outcomes(other.budget)).toEqual(notNowBy(window));
    const gauges = await other.budget.gauges();
    expect(gauges.flatMap((gauge) => (gauge.closedUntil ? [`${gauge.bucket} ${gauge.window}`] : []))).toEqual(
      [window],
    );
  });

  it('a closed window stays closed after a raised limit, a returned permit, a shorter 429 and a flushed Redis', async () => {
    const { budget, redis, prefix } = await workers.start();
    const [one, two, three, four] = granted(await atOnce(4, () => budget.requestPermit(call('live'))));
    await budget.settle(one!, 429, headers({ 'read day': 1_000 }));
    await budget.settle(two!, 200, [{ bucket: 'read', window: 'day', limit: 5_000, used: 1 }]);
    await budget.giveBack(three!);
    await budget.settle(four!, 429, []);
    expect(await outcomes(budget)).toEqual(notNowBy('read day'));
    await forget(redis, prefix);
    expect(await outcomes(budget)).toEqual(notNowBy('read day'));
    // A worker that starts after the flush reads the 429 from the ledger.
    await forget(redis, prefix);
    const newcomer = await workers.start({ prefix });
    expect(await outcomes(newcomer.budget)).toEqual(notNowBy('read day'));
    const [day] = (await newcomer.budget.gauges()).filter(({ closedUntil }) => closedUntil);
    expect(Math.abs(Number(day?.closedUntil) - dayEndMs)).toBeLessThan(60_000);
  });

  it('a window that was closed before Redis’ clock was set back by a day is open, and a new 429 closes it again', async () => {
    const { budget, redis, prefix } = await workers.start();
    const [permit, answered] = granted(await atOnce(2, () => budget.requestPermit(call('live'))));
    // The longest window, which begins now, and a day.
    const farMs =
      Date.now() + 1_000 * Math.max(...policy.counters.map(({ seconds }) => seconds)) + 86_400_000;
    await redis.set('strava:rate:closed', `${farMs} read day`);
    const closing =
      'update strava_api_requests set closed_window = $2, closed_until = to_timestamp($3) where id = $1';
    await workers.database.query(closing, [answered!.ledgerId, 'read day', farMs / 1_000]);
    const open = CLASSES.map(() => expect.objectContaining({ kind: 'granted' }));
    expect(await outcomes(budget)).toEqual(open);
    expect((await budget.gauges()).filter(({ closedUntil }) => closedUntil)).toEqual([]);
    await budget.settle(permit!, 429, headers({ 'read 15min': 100 }));
    expect(await outcomes(budget)).toEqual(notNowBy('read 15min'));
    // A worker that rebuilds the counters reads both 429 from the ledger.
    await forget(redis, prefix);
    const newcomer = await workers.start({ prefix });
    expect(await outcomes(newcomer.budget)).toEqual(notNowBy('read 15min'));
  });

  it('a closed window opens when the next window begins, at the time that retryAfterMs gave', async () => {
    const { budget } = await workers.start({ policy: strava, scale: 900 });
    const { endsAtMs, notAfterMs, notBeforeMs, answerMs } = await eventually(
      'a 429 within its window',
      async () => {
        const askedAtMs = Date.now();
        const [permit] = granted([await budget.requestPermit(call('live'))]);
        if (!permit) return undefined;
        const answerMs = Date.now() - askedAtMs;
        const { endsAtMs } = windowAt(permit.nowMs, 900, 900);
        const beforeMs = Date.now();
        const closed = await budget.settle(permit, 429, []);
        const afterMs = Date.now();
        const pauseMs = closed?.retryAfterMs ?? 0;
        // `settle` computed the pause between beforeMs and afterMs.
        const times = { endsAtMs, notBeforeMs: beforeMs + pauseMs, notAfterMs: afterMs + pauseMs, answerMs };
        return afterMs < endsAtMs ? times : undefined;
      },
    );
    // The process knows Redis' clock to within the time of an answer.
    expect(notAfterMs - endsAtMs).toBeGreaterThanOrEqual(50 - answerMs);
    expect(notBeforeMs - endsAtMs).toBeLessThan(100 + answerMs);
    const next = await eventually(
      'it to open',
      async () => granted([await budget.requestPermit(call('live'))])[0],
    );
    expect(next.nowMs).toBeGreaterThanOrEqual(endsAtMs);
  });

  it('a Retry-After beyond the window’s end keeps the window closed for longer, at most until the day ends', async () => {
    // Windows of a second, and a day of 96 s whose middle is now: its end would cut a short Retry-After off.
    const beganAtMs = Date.now() - 48_000;
    const daySeconds = beganAtMs / Math.floor(beganAtMs / 96_000) / 1_000;
    const counters = strava.counters.map((counter) => ({
      ...counter,
      seconds: counter.window === 'day' ? daySeconds : 1,
    }));
    const { budget } = await workers.start({ policy: { ...strava, counters } });
    const permit = await eventually(
      'a permit',
      async () => granted([await budget.requestPermit(call('live'))])[0],
    );
    const until = async (retryAfterSeconds: number) =>
      (await budget.settle(permit, 429, [], { retryAfterSeconds }))?.retryAfterMs ?? 0;
    expect(await until(0)).toBeLessThanOrEqual(1_200);
    const askedAtMs = performance.now();
    const fiveSeconds = await until(5);
    expect(fiveSeconds + performance.now() - askedAtMs).toBeGreaterThan(4_500);
    expect(fiveSeconds).toBeLessThanOrEqual(5_500);
    expect(await budget.requestPermit(call('live'))).toMatchObject({ kind: 'notNow' });
    expect(await until(1_000_000)).toBeLessThanOrEqual(48_500);
  });

  it('a 429 while Redis is away closes the window for every worker, connected to Redis or not', async () => {
    const proxy = await Proxy.before(required('REDIS_URL'));
    const cutOff = await workers.start({ url: proxy.url });
    const other = await workers.start({ prefix: cutOff.prefix });
    const newcomer = await workers.start({ url: proxy.url });
    const permit = await aPermit(cutOff.budget);
    await aPermit(other.budget);
    proxy.cut();
    await eventually('the cut', () => [cutOff, newcomer].every(({ redis }) => redis.status !== 'ready'));
    const closed = await cutOff.budget.settle(permit, 429, headers({ 'read day': 1_000 }));
    expect(closed).toMatchObject({ window: 'read day' });
    expect(await cutOff.budget.requestPermit(call('live'))).toMatchObject({
      kind: 'notNow',
      window: 'read day',
    });
    expect(await newcomer.budget.requestPermit(call('live'))).toMatchObject({ window: 'read day' });
    expect(await outcomes(other.budget)).toEqual(notNowBy('read day'));
    proxy.heal();
    await proxy.close();
  });
});

describe('a limit changed by the vendor', () => {
  let workers: BudgetWorkers;
  beforeAll(async () => (workers = await BudgetWorkers.begin()));
  afterAll(() => workers.end());

  it('a lowered or raised limit applies to the next permit of every worker', async () => {
    const one = await workers.start();
    const other = await workers.start({ prefix: one.prefix });
    const usage = (limit: number) => [{ bucket: 'read', window: '15min', limit, used: 1 }];
    const fill = async () => granted(await atOnce(50, () => other.budget.requestPermit(call('live'))));
    await one.budget.settle(await aPermit(one.budget), 200, usage(20));
    const filled = await fill();
    expect(filled).toHaveLength(19);
    await one.budget.settle(filled[0]!, 200, usage(40));
    expect(await fill()).toHaveLength(20);
    await one.budget.settle(filled[0]!, 200, usage(10));
    expect(await fill()).toHaveLength(0);
  });
});
