import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { eventually } from '../../../test/harness/eventually.js';
import { Proxy } from '../../../test/harness/proxy.js';
import { required } from '../../../test/harness/servers.js';
import { aPermit, atOnce, call, CLASSES, eternal, forget, granted, Workers } from './budget.harness.js';
import { strava } from './policy.js';
import { type Usage } from './usage.js';
import { windowAt } from './windows.js';

const policy = eternal({ '15min': 100, day: 1_000 });
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

describe('a 429', () => {
  let workers: Workers;
  beforeAll(async () => (workers = await Workers.begin()));
  beforeEach(() => workers.freshLedger());
  afterAll(() => workers.end());

  const verdicts = async (budget: Awaited<ReturnType<Workers['start']>>['budget']) =>
    Promise.all(CLASSES.map((callClass) => budget.acquire(call(callClass))));
  const refusedBy = (window: string) =>
    CLASSES.map(() => expect.objectContaining({ kind: 'refused', window }));

  it.each([
    ['the day, where its headers show that used up', { 'read day': 1_000 }, 'read day', dayEndMs],
    ['the day of the other bucket', { 'overall day': 1_001 }, 'overall day', dayEndMs],
    ['the longer of two', { 'read 15min': 100, 'read day': 1_000 }, 'read day', dayEndMs],
    ['the 15 minutes, where they are used up', { 'overall 15min': 120 }, 'overall 15min', quarterEndMs],
    ['the 15 minutes, where its headers lie and show no window used up', {}, 'read 15min', quarterEndMs],
    ['the 15 minutes, where it has no headers', undefined, 'read 15min', quarterEndMs],
  ] as const)('closes %s', async (_, used, window, endsAtMs) => {
    const one = await workers.start();
    const other = await workers.start({ prefix: one.prefix });
    const closed = await one.budget.settle(await aPermit(one.budget), 429, used ? headers(used) : []);
    expect(closed).toMatchObject({ kind: 'refused', window });
    expect(Math.abs(Date.now() + (closed?.retryAfterMs ?? 0) - endsAtMs)).toBeLessThan(60_000);
    expect(await verdicts(one.budget)).toEqual(refusedBy(window));
    expect(await verdicts(other.budget)).toEqual(refusedBy(window));
    const gauges = await other.budget.gauges();
    expect(gauges.flatMap((gauge) => (gauge.closedUntil ? [`${gauge.bucket} ${gauge.window}`] : []))).toEqual(
      [window],
    );
  });

  it('is not undone by a raised limit, a permit given back, a shorter closure, or a Redis that forgets', async () => {
    const { budget, redis, prefix } = await workers.start();
    const [one, two, three, four] = granted(await atOnce(4, () => budget.acquire(call('live'))));
    await budget.settle(one!, 429, headers({ 'read day': 1_000 }));
    await budget.settle(two!, 200, [{ bucket: 'read', window: 'day', limit: 5_000, used: 1 }]);
    await budget.giveBack(three!);
    await budget.settle(four!, 429, []);
    expect(await verdicts(budget)).toEqual(refusedBy('read day'));
    await forget(redis, prefix);
    expect(await verdicts(budget)).toEqual(refusedBy('read day'));
    // Who was not there has it from the ledger.
    await forget(redis, prefix);
    const newcomer = await workers.start({ prefix });
    expect(await verdicts(newcomer.budget)).toEqual(refusedBy('read day'));
    const [day] = (await newcomer.budget.gauges()).filter(({ closedUntil }) => closedUntil);
    expect(Math.abs(Number(day?.closedUntil) - dayEndMs)).toBeLessThan(60_000);
  });

  it('opens with the next window, at the moment it told', async () => {
    const { budget } = await workers.start({ policy: strava, scale: 900 });
    const { endsAtMs, notAfterMs, notBeforeMs } = await eventually('a 429 within its window', async () => {
      const [permit] = granted([await budget.acquire(call('live'))]);
      if (!permit) return undefined;
      const { endsAtMs } = windowAt(permit.nowMs, 900, 900);
      const askedAtMs = Date.now();
      const closed = await budget.settle(permit, 429, []);
      const toldAtMs = Date.now();
      const pauseMs = closed?.retryAfterMs ?? 0;
      // It was told somewhere in between.
      const times = { endsAtMs, notBeforeMs: askedAtMs + pauseMs, notAfterMs: toldAtMs + pauseMs };
      return toldAtMs < endsAtMs ? times : undefined;
    });
    expect(notAfterMs - endsAtMs).toBeGreaterThanOrEqual(50);
    expect(notBeforeMs - endsAtMs).toBeLessThan(100);
    const next = await eventually('it to open', async () => granted([await budget.acquire(call('live'))])[0]);
    expect(next.nowMs).toBeGreaterThanOrEqual(endsAtMs);
  });

  it('stays as long as its Retry-After says, if that is longer, but never longer than a day', async () => {
    const { budget } = await workers.start({ policy: strava, scale: 900 });
    const permit = await eventually('a permit', async () => granted([await budget.acquire(call('live'))])[0]);
    const until = async (retryAfterSeconds: number) =>
      (await budget.settle(permit, 429, [], retryAfterSeconds))?.retryAfterMs ?? 0;
    expect(await until(0)).toBeLessThanOrEqual(1_100);
    const fiveSeconds = await until(5);
    expect(fiveSeconds).toBeGreaterThan(4_900);
    expect(fiveSeconds).toBeLessThanOrEqual(5_100);
    expect(await budget.acquire(call('live'))).toMatchObject({ kind: 'refused' });
    expect(await until(1_000_000)).toBeLessThanOrEqual(96_100);
  });

  it('closes the window also while Redis is away, to everybody', async () => {
    const proxy = await Proxy.before(required('REDIS_URL'));
    const cutOff = await workers.start({ url: proxy.url });
    const other = await workers.start({ prefix: cutOff.prefix });
    const stranger = await workers.start({ url: proxy.url });
    const permit = await aPermit(cutOff.budget);
    await aPermit(other.budget);
    proxy.cut();
    await eventually('the cut', () => [cutOff, stranger].every(({ redis }) => redis.status !== 'ready'));
    const closed = await cutOff.budget.settle(permit, 429, headers({ 'read day': 1_000 }));
    expect(closed).toMatchObject({ window: 'read day' });
    expect(await cutOff.budget.acquire(call('live'))).toMatchObject({ kind: 'refused', window: 'read day' });
    expect(await stranger.budget.acquire(call('live'))).toMatchObject({ window: 'read day' });
    expect(await verdicts(other.budget)).toEqual(refusedBy('read day'));
    proxy.heal();
    await proxy.close();
  });
});

describe('a limit that the vendor changes', () => {
  let workers: Workers;
  beforeAll(async () => (workers = await Workers.begin()));
  afterAll(() => workers.end());

  it('counts from the next question on, lowered or raised, for every worker', async () => {
    const one = await workers.start();
    const other = await workers.start({ prefix: one.prefix });
    const permit = await aPermit(one.budget);
    const learn = (limit: number) =>
      one.budget.settle(permit, 200, [{ bucket: 'read', window: '15min', limit, used: 1 }]);
    const fill = async () => granted(await atOnce(50, () => other.budget.acquire(call('live')))).length;
    await learn(20);
    expect(await fill()).toBe(19);
    await learn(10);
    expect(await fill()).toBe(0);
    await learn(40);
    expect(await fill()).toBe(20);
  });
});
