import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import fc from 'fast-check';
import { DependencyUnavailable, timeScale } from '#platform';
import { VENDORS } from '#vendors';
import { eventually } from '../../../test/harness/eventually.js';
import { modelRuns } from '../../../test/harness/model-runs.js';
import { Proxy } from '../../../test/harness/proxy.js';
import { required } from '../../../test/harness/servers.js';
import { type Permit } from './permit.js';
import {
  aPermit,
  atOnce,
  call,
  CLASSES,
  begunByRequests,
  policyWithoutBoundaries,
  endWindows,
  forget,
  granted,
  logger,
  type Setting,
  type TestWorker,
  BudgetWorkers,
} from './budget.harness.js';
import { Counters } from './counters.js';
import { Ledger } from './ledger.js';
import { ceiling } from './ceilings.js';
import { type CallClass, nameOf, type VendorPolicy } from './policy.js';
import { VendorBudget } from './vendor-budget.js';
import { windowAt } from './windows.js';

const strava = VENDORS.strava.limits;

describe('VendorBudget', () => {
  let workers: BudgetWorkers;
  beforeAll(async () => (workers = await BudgetWorkers.begin()));
  afterAll(() => workers.end());
  const worker = (setting: Setting) => workers.start(setting);
  const freshLedger = () => workers.resetLedger();
  const database = () => workers.database;

  it('the budget grants each class exactly its ceiling to two workers that request at once', async () => {
    await freshLedger();
    const one = await worker({});
    const two = await worker({ prefix: one.prefix });
    const request = (callClass: CallClass) => (n: number) =>
      (n % 2 ? one : two).budget.requestPermit(call(callClass));
    expect(granted(await atOnce(150, request('backfill')))).toHaveLength(81);
    expect(granted(await atOnce(50, request('import')))).toHaveLength(95 - 81);
    expect(granted(await atOnce(50, request('live')))).toHaveLength(5);
    const last = await one.budget.requestPermit(call('live'));
    expect(last).toMatchObject({ kind: 'notNow', window: 'read 15min' });
  });

  it('the budget tells Redis’ time although the clock of its process is an hour ahead', async () => {
    await freshLedger();
    const { budget, redis } = await worker({ policy: policyWithoutBoundaries({ '15min': 50, day: 10 }) });
    const { now } = Date;
    const clock = jest.spyOn(Date, 'now').mockImplementation(() => now() + 3_600_000);
    try {
      await budget.requestPermit(call('live'));
      const [seconds] = await redis.time();
      expect(Math.abs(budget.nowMs() - Number(seconds) * 1_000)).toBeLessThan(600_000);
    } finally {
      clock.mockRestore();
    }
  });

  it('the budget names the window that stays full longest, and charges no counter when one counter is full', async () => {
    await freshLedger();
    const { budget } = await worker({ policy: policyWithoutBoundaries({ '15min': 50, day: 10 }) });
    await atOnce(20, () => budget.requestPermit(call('live')));
    expect(await budget.requestPermit(call('live'))).toMatchObject({ kind: 'notNow', window: 'read day' });
    const used = (await budget.gauges()).map((gauge) => gauge.used);
    expect(used).toEqual([10, 10, 10, 10]);
  });

  it('the budget records each call with its permit, and records the status when the call is settled', async () => {
    await freshLedger();
    const { budget } = await worker({});
    const [permit] = granted([await budget.requestPermit(call('import', { endpoint: 'streams' }))]);
    const row = 'select endpoint, class, status from strava_api_requests';
    expect((await workers.database.query(row)).rows).toEqual([
      { endpoint: 'streams', class: 'import', status: null },
    ]);
    await budget.settle(permit as Permit, 200, []);
    expect((await workers.database.query(row)).rows).toEqual([
      { endpoint: 'streams', class: 'import', status: 200 },
    ]);
  });

  it('the budget adopts the vendor’s higher count and the vendor’s limits', async () => {
    await freshLedger();
    const { budget } = await worker({});
    const [permit] = granted([await budget.requestPermit(call('live'))]);
    const reported = { bucket: 'read', window: '15min', limit: 200, used: 150 };
    await budget.settle(permit as Permit, 200, [reported]);
    expect((await budget.gauges())[0]).toMatchObject({ used: 150, limit: 200, remaining: 50 });
    expect(granted(await atOnce(60, () => budget.requestPermit(call('import'))))).toHaveLength(190 - 150);
    await budget.settle(permit as Permit, 200, [{ ...reported, used: 20 }]);
    expect((await budget.gauges())[0]).toMatchObject({ used: 190 });
  });

  it('the budget can grant a call again after its permit was given back', async () => {
    await freshLedger();
    const { budget } = await worker({ policy: policyWithoutBoundaries({ '15min': 1, day: 10 }) });
    const [permit] = granted([await budget.requestPermit(call('live'))]);
    expect(granted([await budget.requestPermit(call('live'))])).toHaveLength(0);
    await budget.giveBack(permit as Permit);
    expect(granted([await budget.requestPermit(call('live'))])).toHaveLength(1);
    expect((await workers.database.query('select from strava_api_requests')).count).toBe(1);
  });

  it('the budget gives four slots at most; settle and giveBack each free a slot', async () => {
    await freshLedger();
    const { budget } = await worker({});
    const detail = () => budget.requestPermit(call('live', { holdsSlot: true }));
    const permits = granted(await atOnce(10, detail));
    expect(permits).toHaveLength(4);
    expect(await detail()).toMatchObject({ kind: 'notNow', window: 'slot' });
    await budget.settle(permits[0] as Permit, 200, []);
    await budget.giveBack(permits[1] as Permit);
    expect(granted(await atOnce(10, detail))).toHaveLength(2);
  });

  it('slots that dead processes held when Redis’ clock was set back by a day are free after 30 s', async () => {
    await freshLedger();
    const { budget, redis } = await worker({});
    const detail = () => budget.requestPermit(call('live', { holdsSlot: true }));
    const [first] = granted([await detail()]);
    await budget.giveBack(first!);
    const farMs = Date.now() + 86_400_000;
    for (const id of ['a', 'b', 'c', 'd']) await redis.zadd('strava:rate:slots', farMs, id);
    expect(await detail()).toMatchObject({ kind: 'notNow', window: 'slot' });
    const held = await redis.zrange('strava:rate:slots', 0, -1, 'WITHSCORES');
    const [seconds, microseconds] = await redis.time();
    const nowMs = Number(seconds) * 1_000 + Number(microseconds) / 1_000;
    for (const endsAtMs of ['a', 'b', 'c', 'd'].map((id) => Number(held[held.indexOf(id) + 1]))) {
      expect(endsAtMs - nowMs).toBeLessThanOrEqual(30_000);
      expect(endsAtMs - nowMs).toBeGreaterThan(0);
    }
  });

  it('the budget is rebuilt from the ledger after Redis lost its keys, while two workers request permits', async () => {
    await freshLedger();
    const one = await worker({});
    const two = await worker({ prefix: one.prefix });
    await atOnce(60, () => one.budget.requestPermit(call('live')));
    await forget(one.redis, one.prefix);
    const request = (n: number) => (n % 2 ? one : two).budget.requestPermit(call('live'));
    expect(granted(await atOnce(100, request))).toHaveLength(40);
  });

  it('a rebuild by a process that was frozen until another had rebuilt the counters changes nothing', async () => {
    const { redis } = await worker({});
    const counters = new Counters(policyWithoutBoundaries({ '15min': 100, day: 100 }), redis, timeScale(1));
    const windows = counters.windowsByLedger(Date.now(), () => 0, { straddles: true });
    const rebuild = (window: number) => {
      const counts = { window, day: window };
      return counters.rebuild({ found: '', state: '1:a' }, {}, windows, { both: counts, last: counts });
    };
    await rebuild(5);
    await rebuild(9);
    expect((await counters.gauges())[0]).toMatchObject({ used: 5 });
  });

  it('a charge from before a rebuild cannot be recorded', async () => {
    await freshLedger();
    const policy = policyWithoutBoundaries({ '15min': 10, day: 100 });
    const one = await worker({ policy });
    const two = await worker({ policy, prefix: one.prefix });
    await one.budget.requestPermit(call('live'));
    // This call is charged, but not yet recorded, when Redis loses its keys. So the rebuilt budget does not count this call.
    const early = await one.budget.charge(call('live'));
    await forget(one.redis, one.prefix);
    expect(granted(await atOnce(20, () => two.budget.requestPermit(call('live'))))).toHaveLength(9);
    const ledger = new Ledger(workers.database, 'strava');
    const { state } = early as { state: string };
    const late = { userId: null, endpoint: 'late', class: 'live' as const, windowId: 0, dayId: 0 };
    expect(await ledger.record(late, Number(state.split(':')[0]))).toBeUndefined();
  });

  it('the ledger permits only live calls while Redis is away, and other workers’ counters include these calls', async () => {
    await freshLedger();
    const policy = policyWithoutBoundaries({ '15min': 10, day: 100 });
    const proxy = await Proxy.before(required('REDIS_URL'));
    const cutOff = await worker({ policy, url: proxy.url });
    const other = await worker({ policy, prefix: cutOff.prefix });
    await atOnce(4, () => cutOff.budget.requestPermit(call('live')));
    proxy.cut();
    await eventually('the cut', () => cutOff.redis.status !== 'ready');
    expect(await cutOff.budget.requestPermit(call('import'))).toEqual({ kind: 'unavailable' });
    expect(await cutOff.budget.requestPermit(call('backfill'))).toEqual({ kind: 'unavailable' });
    const [permit, ...more] = granted(await atOnce(3, () => cutOff.budget.requestPermit(call('live'))));
    expect(more).toHaveLength(2);
    await cutOff.budget.settle(permit as Permit, 200, [
      { bucket: 'read', window: '15min', limit: 10, used: 7 },
    ]);
    expect(granted(await atOnce(10, () => other.budget.requestPermit(call('live'))))).toHaveLength(3);
    expect(await cutOff.budget.requestPermit(call('live'))).toMatchObject({
      kind: 'notNow',
      window: 'read 15min',
    });
    proxy.heal();
    await eventually('the connection again', () => cutOff.redis.status === 'ready');
    await proxy.close();
  });

  describe('the ledger has the difference of Redis’ clock as it was ten minutes ago', () => {
    // A boundary was five minutes ago, so that this difference leads to the window before.
    const old = "update vendor_budget_epoch set redis_ahead_ms = -600000 where vendor = 'strava'";
    const policy = () => {
      const boundaryMs = Date.now() - 300_000;
      const seconds = boundaryMs / Math.floor(boundaryMs / 3_000_000) / 1_000;
      const counters = strava.counters.map((counter) => ({
        ...counter,
        ...{ seconds, limit: 20, releasedForLastSeconds: 0 },
      }));
      return { ...strava, counters };
    };
    beforeEach(() => freshLedger());
    afterEach(() => workers.database.query('update vendor_budget_epoch set redis_ahead_ms = 0'));

    it('while Redis is away a process goes by Redis’ time as it last heard it', async () => {
      const proxy = await Proxy.before(required('REDIS_URL'));
      const { budget, redis } = await worker({ policy: policy(), url: proxy.url });
      await atOnce(15, () => aPermit(budget));
      await workers.database.query(old);
      proxy.cut();
      await eventually('the cut', () => redis.status !== 'ready');
      expect(granted(await atOnce(20, () => budget.requestPermit(call('live'))))).toHaveLength(5);
      await proxy.close();
    });

    it('a call after ten minutes corrects it', async () => {
      const { budget } = await worker({ policy: policy() });
      await aPermit(budget);
      await workers.database.query(old);
      await aPermit(budget);
      const aheadMs = async () =>
        (
          await workers.database.query<{ ms: number }>(
            "select redis_ahead_ms as ms from vendor_budget_epoch where vendor = 'strava'",
          )
        ).rows[0]!.ms;
      expect(await aheadMs()).toBe(-600_000);
      const now = performance.now.bind(performance);
      const later = jest.spyOn(performance, 'now').mockImplementation(() => now() + 600_000);
      await aPermit(budget);
      later.mockRestore();
      expect(Math.abs(await aheadMs())).toBeLessThan(1_000);
    });
  });

  it('the budget neither permits nor charges a call while Postgres cannot record it', async () => {
    await freshLedger();
    const { budget, redis } = await worker({ policy: policyWithoutBoundaries({ '15min': 5, day: 100 }) });
    await budget.requestPermit(call('live'));
    const failing = new VendorBudget(
      policyWithoutBoundaries({ '15min': 5, day: 100 }),
      redis,
      Object.assign(Object.create(Ledger.prototype) as Ledger, new Ledger(workers.database, 'strava'), {
        record: () => Promise.reject(new Error('connection terminated')),
      }),
      timeScale(1),
      logger,
    );
    for (let time = 0; time < 10; time += 1)
      expect(await failing.requestPermit(call('live'))).toEqual({ kind: 'unavailable' });
    expect(granted(await atOnce(10, () => budget.requestPermit(call('live'))))).toHaveLength(4);
  });

  it.each(['epoch' as const, 'first request' as const])(
    'the budget agrees with a model under random sequences of events, with windows of alignment %s',
    async (alignment) => {
      const policy = policyWithoutBoundaries({ '15min': 12, day: 30 }, alignment);
      const by = fc.nat(1);
      const aClass = fc.constantFrom(...CLASSES);
      const event = fc.oneof(
        { weight: 16, arbitrary: fc.tuple(fc.constant('acquire' as const), by, aClass) },
        { weight: 4, arbitrary: fc.tuple(fc.constant('acquire together' as const), fc.nat(9), aClass) },
        { weight: 4, arbitrary: fc.tuple(fc.constant('give back' as const), by, fc.constant(0)) },
        { weight: 4, arbitrary: fc.tuple(fc.constant('count more' as const), by, fc.nat(3)) },
        {
          weight: 2,
          arbitrary: fc.tuple(fc.constant('change limit' as const), by, fc.integer({ min: 5, max: 40 })),
        },
        { weight: 2, arbitrary: fc.tuple(fc.constant('forget' as const), by, fc.constant(0)) },
        {
          weight: alignment === 'first request' ? 3 : 0,
          arbitrary: fc.tuple(fc.constant('end windows' as const), by, fc.constant(0)),
        },
        { weight: 1, arbitrary: fc.tuple(fc.constant('429' as const), by, fc.constantFrom('bare', 'lies')) },
      );
      await fc.assert(
        fc.asyncProperty(fc.array(event, { minLength: 5, maxLength: 60 }), async (events) => {
          await freshLedger();
          const one = await worker({ policy });
          const workers = [one, await worker({ policy, prefix: one.prefix })];
          const model = new Model(policy);
          const permits: Permit[] = [];
          const ended: Permit[] = [];
          for (const [kind, index, value] of events) {
            const { budget, redis, prefix } = workers[index % 2] as typeof one;
            const newest = permits.at(-1);
            if (kind === 'acquire') {
              const answer = await budget.requestPermit(call(value));
              expect(answer.kind).toBe(model.acquire(value) ? 'granted' : 'notNow');
              permits.push(...granted([answer]));
            } else if (kind === 'acquire together') {
              const request = (n: number) => (workers[n % 2] as typeof one).budget.requestPermit(call(value));
              const answers = await atOnce(index, request);
              const expected = Array.from({ length: index }, () => model.acquire(value));
              permits.push(...granted(answers));
              expect(granted(answers)).toHaveLength(expected.filter(Boolean).length);
            } else if (kind === 'forget') {
              await forget(redis, prefix);
              model.forget();
            } else if (kind === 'end windows') {
              await endWindows(database(), redis);
              model.endWindows();
              ended.push(...permits);
            } else if (newest && kind === 'give back') {
              permits.pop();
              await budget.giveBack(newest);
              model.giveBack(
                (await redis.get('strava:rate:state')) === newest.state,
                !ended.includes(newest),
              );
            } else if (newest && kind === 'count more' && !ended.includes(newest)) {
              const used = model.usedOf('read 15min') + value;
              await budget.settle(newest, 200, [
                { bucket: 'read', window: '15min', limit: model.limitOf('read 15min'), used },
              ]);
              if (await redis.exists(newest.keys[0] as string)) model.counted('read 15min', used);
            } else if (kind === 'change limit') {
              // A call made now: learned-limits.servers.spec.ts tests answers to older calls.
              const [made] = granted([await budget.requestPermit(call('live'))]);
              expect(Boolean(made)).toBe(model.acquire('live'));
              if (!made) continue;
              permits.push(made);
              await budget.settle(made, 200, [{ bucket: 'read', window: '15min', limit: value, used: 0 }]);
              model.learned('read 15min', value);
            } else if (newest && kind === '429') {
              permits.pop();
              const unused = { bucket: 'read', window: '15min', limit: model.limitOf('read 15min'), used: 0 };
              await budget.settle(newest, 429, value === 'lies' ? [unused] : []);
              model.closed();
            }
          }
          for (const { redis } of workers) redis.disconnect();
        }),
        modelRuns(60),
      );
    },
  );

  it('the budget keeps every window’s limit over several boundaries although the vendor’s clock is 45 ms off', async () => {
    await freshLedger();
    const scale = 900;
    const vendor = new SkewedVendor(scale);
    const one = await worker({ policy: strava, scale });
    const two = await worker({ policy: strava, scale, prefix: one.prefix });
    const endsAtMs = Date.now() + 3_500;
    let straddling = 0;
    const hammer = async ({ budget }: TestWorker, skewMs: number) => {
      while (Date.now() < endsAtMs) {
        // Imports leave the last five calls of each window to live calls, which straddle the boundary at each full second.
        const inSecondMs = Date.now() % 1_000;
        const isNear = inSecondMs >= 900 || inSecondMs < 50;
        const answer = await budget.requestPermit(
          isNear ? call('live', { straddles: true }) : call('import'),
        );
        if (answer.kind !== 'granted') continue;
        if (answer.permit.isNearBoundary) straddling += 1;
        if (budget.isFresh(answer.permit)) vendor.receive(skewMs);
        else await budget.giveBack(answer.permit);
      }
    };
    // The vendor's clock is 45 ms fast for half of the calls and 45 ms slow for the other half. The guard is 50 ms.
    await Promise.all([hammer(one, 45), hammer(one, -45), hammer(two, 45), hammer(two, -45)]);
    expect(vendor.fullest()).toBeLessThanOrEqual(100);
    expect(straddling).toBeGreaterThan(0);
    expect(vendor.windowsSeen()).toBeGreaterThanOrEqual(3);
  });
});

describe('a vendor whose clock differs from Redis’', () => {
  let workers: BudgetWorkers;
  beforeAll(async () => (workers = await BudgetWorkers.begin()));
  beforeEach(() => workers.resetLedger());
  afterAll(() => workers.end());

  // Windows of 6 s, and days of 576 s.
  const SCALE = 150;
  const WINDOW_MS = 6_000;
  const LIMIT = 100;

  /** The vendor's own counts, by its own clock. */
  class Vendor {
    private readonly counts = new Map<number, number>();
    constructor(private readonly aheadMs: number) {}

    receive(): { readonly dateMs: number; readonly used: number } {
      const nowMs = Date.now() + this.aheadMs;
      const window = Math.floor(nowMs / WINDOW_MS);
      const used = (this.counts.get(window) ?? 0) + 1;
      this.counts.set(window, used);
      return { dateMs: Math.floor(nowMs / 1_000) * 1_000, used };
    }

    get fullest(): number {
      return Math.max(...this.counts.values());
    }
  }

  it.each([
    ['ahead', 2_500],
    ['behind', -2_500],
  ])(
    'no window of a vendor whose clock is 2.5 s %s gets more calls than its limit, although all calls are made near our boundaries',
    async (_, aheadMs) => {
      const one = await workers.start({ policy: strava, scale: SCALE });
      const two = await workers.start({ policy: strava, scale: SCALE, prefix: one.prefix });
      // The difference is unknown until the first answer, so this call is not counted.
      const first = await eventually('a first permit', async () => {
        return granted([await one.budget.requestPermit(call('live'))])[0];
      });
      await one.budget.settle(first, 200, [], { dateMs: new Vendor(aheadMs).receive().dateMs });
      const vendor = new Vendor(aheadMs);
      const endsAtMs = Date.now() + 2.2 * WINDOW_MS;
      let calls = 0;
      const hammer = async ({ budget }: TestWorker) => {
        while (Date.now() < endsAtMs) {
          const inWindowMs = Date.now() % WINDOW_MS;
          const isNear = inWindowMs < WINDOW_MS / 2 || inWindowMs > WINDOW_MS - 1_500;
          const answer = isNear ? await budget.requestPermit(call('live')) : undefined;
          if (answer?.kind !== 'granted') {
            await pause(5);
            continue;
          }
          if (!budget.isFresh(answer.permit)) {
            await answer.giveBack();
            continue;
          }
          calls += 1;
          await budget.settle(answer.permit, 200, [], { dateMs: vendor.receive().dateMs });
        }
      };
      await Promise.all([hammer(one), hammer(one), hammer(two), hammer(two)]);
      expect(vendor.fullest).toBeLessThanOrEqual(LIMIT);
      expect(calls).toBeGreaterThan(LIMIT);
      expect(Math.abs(one.budget.clockDifferenceSeconds + aheadMs / 1_000)).toBeLessThanOrEqual(1);
    },
  );

  it('the count of a vendor that is still in its previous window is not taken over, and later counts are', async () => {
    const { budget } = await workers.start({ policy: strava, scale: SCALE });
    const vendor = new Vendor(-2_500);
    const permit = await eventually('a permit while the vendor is in its previous window', async () => {
      const [given] = granted([await budget.requestPermit(call('live'))]);
      if (given && given.nowMs % WINDOW_MS < 1_500) return given;
      if (given) await budget.giveBack(given);
      return undefined;
    });
    const told = (used: number) => [{ bucket: 'read', window: '15min', limit: LIMIT, used }];
    await budget.settle(permit, 200, told(90), { dateMs: vendor.receive().dateMs });
    expect((await budget.gauges())[0]).toMatchObject({ used: 1 });
    const later = await eventually('a permit of the vendor’s next window alone', async () => {
      const [given] = granted([await budget.requestPermit(call('live'))]);
      if (given && !given.isNearBoundary) return given;
      if (given) await budget.giveBack(given);
      return undefined;
    });
    await budget.settle(later, 200, told(7), { dateMs: vendor.receive().dateMs });
    expect((await budget.gauges())[0]).toMatchObject({ used: 7 });
  });

  it('a 429 of a vendor that is still in its previous day closes calls until the vendor’s day ends, and not for our day', async () => {
    const { budget } = await workers.start({ policy: strava, scale: SCALE });
    const permit = await eventually('a permit', async () => {
      return granted([await budget.requestPermit(call('live'))])[0];
    });
    const spent = [{ bucket: 'read', window: 'day', limit: 1_000, used: 1_000 }];
    const dayMs = 86_400_000 / SCALE;
    // The vendor's day ends in 3 to 4 s.
    const leftMs = 3_500;
    const dateMs = Math.floor((permit.nowMs - (permit.nowMs % dayMs) - leftMs) / 1_000) * 1_000;
    const closed = await budget.settle(permit, 429, spent, { dateMs });
    expect(closed?.window).toBe('read day');
    expect(closed?.retryAfterMs).toBeGreaterThan(leftMs - 1_000);
    expect(closed?.retryAfterMs).toBeLessThan(leftMs + 3_000);
  });

  /** Windows of 20 calls whose last boundary was `aheadMs / 2` ago by Redis' clock, and comes as much later by that of a vendor `aheadMs` behind. */
  function betweenBoundaries(aheadMs: number) {
    const boundaryMs = Date.now() - aheadMs / 2;
    const seconds = boundaryMs / Math.floor(boundaryMs / (5 * aheadMs)) / 1_000;
    const counters = strava.counters.map((counter) => ({
      ...counter,
      ...{ seconds, limit: 20, releasedForLastSeconds: 0 },
    }));
    /** Adds calls of the vendor's present window, which Redis' clock has left. */
    const inVendorsWindow = async (count: number) => {
      const { id } = windowAt(Date.now() - aheadMs, seconds, 1);
      await workers.database.query(
        `insert into strava_api_requests (endpoint, class, window_id, day_id)
         select 'activity', 'live', $1, $1 from generate_series(1, $2::int)`,
        [id, count],
      );
    };
    return { policy: { ...strava, counters }, inVendorsWindow };
  }

  it.each([
    ['this process', false],
    ['a process that has just started', true],
  ])(
    'a Redis that forgets everything after our boundary and before the vendor’s gives %s no call beyond the vendor’s window',
    async (_, isNew) => {
      const aheadMs = 600_000;
      const { policy, inVendorsWindow } = betweenBoundaries(aheadMs);
      const { budget, redis, prefix } = await workers.start({ policy });
      await budget.settle(await aPermit(budget), 200, [], { dateMs: Date.now() - aheadMs });
      const { budget: asked } = isNew ? await workers.start({ policy, prefix }) : { budget };
      await inVendorsWindow(16);
      await forget(redis, prefix);
      expect(granted(await atOnce(20, () => asked.requestPermit(call('live'))))).toHaveLength(3);
      await forget(redis, prefix);
      expect(granted(await atOnce(20, () => asked.requestPermit(call('live'))))).toHaveLength(0);
    },
  );

  it('after the answer that first shows the difference, the calls of the vendor’s window count that the ledger has', async () => {
    const aheadMs = 600_000;
    const { policy, inVendorsWindow } = betweenBoundaries(aheadMs);
    const { budget } = await workers.start({ policy });
    const first = await aPermit(budget);
    await inVendorsWindow(16);
    await budget.settle(first, 200, [], { dateMs: Date.now() - aheadMs });
    expect(granted(await atOnce(20, () => budget.requestPermit(call('live'))))).toHaveLength(3);
  });

  it('a vendor whose servers disagree about the time has the counters rebuilt once a minute, and its calls go on', async () => {
    const { budget } = await workers.start();
    const epoch = async () =>
      (
        await workers.database.query<{ epoch: number }>(
          "select epoch::int from vendor_budget_epoch where vendor = 'strava'",
        )
      ).rows[0]!.epoch;
    await aPermit(budget);
    const before = await epoch();
    for (let n = 0; n < 10; n += 1)
      await budget.settle(await aPermit(budget), 200, [], { dateMs: Date.now() - (n % 2) * 60_000 });
    expect(await epoch()).toBeLessThanOrEqual(before + 2);
  });

  it('a call that only the full window of one counter refuses waits for that counter’s boundary, not for another one', async () => {
    // The quarters of the vendor begin 20 s later than ours, its days ten minutes later. Both boundaries of ours have just passed.
    const aheadMs = 600_000;
    const lengthOf = (beganMsAgo: number, aboutMs: number) => {
      const beganAtMs = Date.now() - beganMsAgo;
      return beganAtMs / Math.floor(beganAtMs / aboutMs) / 1_000;
    };
    const [quarter, day] = [lengthOf(5_000, 580_000), lengthOf(60_000, 60_000_000)];
    const counters = strava.counters.map((counter) => ({
      ...counter,
      ...{ seconds: counter.window === 'day' ? day : quarter, limit: 20, releasedForLastSeconds: 0 },
    }));
    const { budget } = await workers.start({ policy: { ...strava, counters } });
    const first = await aPermit(budget);
    await workers.database.query(
      `insert into strava_api_requests (endpoint, class, window_id, day_id)
       select 'activity', 'live', $1, 1 from generate_series(1, 20)`,
      [windowAt(Date.now(), quarter, 1).id - 1],
    );
    await budget.settle(first, 200, [], { dateMs: Date.now() - aheadMs });
    const refused = await budget.requestPermit(call('live'));
    expect(refused).toMatchObject({ kind: 'notNow', window: 'boundary' });
    const retryAfterMs = refused.kind === 'notNow' ? refused.retryAfterMs : 0;
    expect(retryAfterMs).toBeGreaterThan(2_000);
    expect(retryAfterMs).toBeLessThan(30_000);
  });

  it('a 429 in the last second of the vendor’s day closes calls for seconds, and not for the day that follows', async () => {
    const aheadMs = 600_000;
    const endsAtMs = Date.now() + aheadMs + 500;
    const daySeconds = endsAtMs / Math.floor(endsAtMs / 86_400_000) / 1_000;
    const counters = strava.counters.map((counter) => ({
      ...counter,
      seconds: counter.window === 'day' ? daySeconds : daySeconds / 96,
    }));
    const { budget } = await workers.start({ policy: { ...strava, counters } });
    const spent = [{ bucket: 'read', window: 'day', limit: 1_000, used: 1_000 }];
    const closed = await budget.settle(await aPermit(budget), 429, spent, { dateMs: Date.now() + aheadMs });
    expect(closed?.window).toBe('read day');
    expect(closed?.retryAfterMs).toBeLessThan(10_000);
  });

  it('a difference that Postgres could not store is stored with the next answer', async () => {
    const { budget } = await workers.start();
    const tellsOff = async () =>
      budget.settle(await aPermit(budget), 200, [], { dateMs: Date.now() - 600_000 });
    const learn = jest.spyOn(Ledger.prototype, 'learnDifference');
    learn.mockRejectedValueOnce(new DependencyUnavailable('postgres'));
    await tellsOff();
    expect(budget.clockDifferenceSeconds).toBe(0);
    await tellsOff();
    learn.mockRestore();
    expect(Math.abs(budget.clockDifferenceSeconds - 600)).toBeLessThanOrEqual(1);
  });

  it('an answer without a Date changes nothing, and the clocks agree again once an answer fits', async () => {
    const one = await workers.start({ policy: strava, scale: SCALE });
    const two = await workers.start({ policy: strava, scale: SCALE, prefix: one.prefix });
    const answered = async ({ budget }: TestWorker, dateMs?: number) => {
      const permit = await eventually('a permit', async () => {
        return granted([await budget.requestPermit(call('live'))])[0];
      });
      await budget.settle(permit, 200, [], { dateMs });
      return Math.round(budget.clockDifferenceSeconds);
    };
    const secondsAgo = (seconds: number) => Math.floor(Date.now() / 1_000 - seconds) * 1_000;
    expect(await answered(one)).toBe(0);
    expect(Math.abs((await answered(one, secondsAgo(600))) - 600)).toBeLessThanOrEqual(1);
    expect(Math.abs((await answered(two)) - 600)).toBeLessThanOrEqual(1);
    expect(await answered(two, secondsAgo(0))).toBe(0);
    expect(await answered(one)).toBe(0);
  });
});

describe('a call that straddles boundaries', () => {
  let workers: BudgetWorkers;
  beforeAll(async () => (workers = await BudgetWorkers.begin()));
  beforeEach(() => workers.resetLedger());
  afterAll(() => workers.end());

  // A window of 0.5 s has a guard of 50 ms, so a boundary is near for 30 % of the time.
  const SCALE = 1_800;
  const GUARD_MS = 50;

  /** Permits of a worker from just before a boundary. */
  async function nearBoundary(budget: VendorBudget, asked: Parameters<typeof call>[1]): Promise<Permit> {
    return eventually('a permit near a boundary', async () => {
      const answer = await budget.requestPermit(call('live', asked));
      if (answer.kind !== 'granted') return undefined;
      if (answer.permit.isNearBoundary) return answer.permit;
      await budget.giveBack(answer.permit);
      return undefined;
    });
  }

  it('a call that straddles is permitted at every moment of a window, and other calls are delayed near its boundaries', async () => {
    const { budget } = await workers.start({ policy: strava, scale: SCALE });
    const refused = { straddling: 0, others: 0 };
    const endsAtMs = Date.now() + 3 * 500;
    while (Date.now() < endsAtMs) {
      const [straddling, other] = await Promise.all([
        budget.requestPermit(call('live', { straddles: true })),
        budget.requestPermit(call('live')),
      ]);
      if (straddling.kind !== 'granted') refused.straddling += 1;
      if (other.kind === 'notNow' && other.window === 'boundary') refused.others += 1;
      for (const answer of [straddling, other]) if (answer.kind === 'granted') await answer.giveBack();
    }
    expect(refused.straddling).toBe(0);
    expect(refused.others).toBeGreaterThan(0);
  });

  it('a call that straddles waits for the pause after a window that began with a request', async () => {
    const { budget } = await workers.start({ policy: begunByRequests, scale: SCALE });
    const outcomes = new Set<string>();
    const endsAtMs = Date.now() + 5 * 500;
    while (Date.now() < endsAtMs) {
      const answer = await budget.requestPermit(call('live', { straddles: true }));
      outcomes.add(answer.kind === 'notNow' ? answer.window : answer.kind);
      if (answer.kind === 'granted') await answer.settle({ status: 200, headers: {} });
    }
    expect([...outcomes].filter((one) => one !== 'read 15min').sort()).toEqual(['boundary', 'granted']);
    const waited = await budget.waitForPermit(call('live', { straddles: true }), { waitMs: 10_000 });
    expect(waited.kind === 'notNow' ? waited.window : waited.kind).not.toBe('boundary');
  });

  it('a call near a boundary counts in both windows, and not once it is given back', async () => {
    const { budget, redis } = await workers.start({ policy: strava, scale: SCALE });
    const permit = await nearBoundary(budget, { straddles: true });
    const neighbours = permit.keys.slice(strava.counters.length);
    expect(neighbours.length).toBeGreaterThanOrEqual(2);
    expect(await redis.mget([...permit.keys])).toEqual(permit.keys.map(() => '1'));
    await budget.giveBack(permit);
    expect(await redis.mget([...permit.keys])).toEqual(permit.keys.map(() => '0'));
  });

  it('the ledger has a call near a boundary in the window that ends last, and its answer raises no count', async () => {
    const { budget, redis } = await workers.start({ policy: strava, scale: SCALE });
    const permit = await nearBoundary(budget, { straddles: true });
    const [first, last] = [permit.windows[0]!, permit.recordedIn[0]!];
    expect(last.startsAtMs).toBe(first.endsAtMs);
    const { rows } = await workers.database.query('select window_id::float8 as id from strava_api_requests');
    expect(rows).toEqual([{ id: last.id }]);
    // The vendor's count of a window that is over would fill the new one.
    await budget.settle(permit, 200, [{ bucket: 'read', window: '15min', limit: 100, used: 99 }]);
    expect(await redis.mget([...permit.keys])).toEqual(permit.keys.map(() => '1'));
  });

  it.each(['keeps its counters', 'forgets everything'])(
    'a call near a boundary uses up the window on either side, although Redis then %s',
    async (then) => {
      const counters = strava.counters.map((counter) => ({
        ...counter,
        limit: counter.window === 'day' ? 100 : 1,
      }));
      const { budget, redis, prefix } = await workers.start({
        policy: { ...strava, counters },
        scale: SCALE,
      });
      const { recordedIn } = await nearBoundary(budget, { straddles: true });
      if (then === 'forgets everything') await forget(redis, prefix);
      const again = await budget.requestPermit(call('live', { straddles: true }));
      expect(again.kind).toBe('notNow');
      // The later of the two windows is full until its end, and the next call comes after that.
      const next = await eventually('the next permit', async () => {
        const answer = await budget.requestPermit(call('live'));
        return answer.kind === 'granted' ? answer.permit : undefined;
      });
      expect(next.nowMs).toBeGreaterThanOrEqual(recordedIn[0]!.endsAtMs + GUARD_MS);
    },
  );
});

/** Counts calls per window by its own clock, as a vendor does. */
class SkewedVendor {
  private readonly counts = new Map<number, number>();

  constructor(private readonly scale: number) {}

  receive(skewMs: number): void {
    const { id } = windowAt(Date.now() + skewMs, 900, this.scale);
    this.counts.set(id, (this.counts.get(id) ?? 0) + 1);
  }

  fullest(): number {
    return Math.max(...this.counts.values());
  }

  windowsSeen(): number {
    return this.counts.size;
  }
}

/** The budget's specification: counters per window and the number of calls in the ledger. */
class Model {
  private readonly limits = new Map<string, number>();
  private readonly used = new Map<string, number>();
  private readonly sent = new Map<string, number>();
  private mustRebuild = true;
  private isClosed = false;

  constructor(private readonly policy: VendorPolicy) {
    for (const counter of policy.counters) this.limits.set(nameOf(counter), counter.limit);
    this.forget();
  }

  acquire(callClass: CallClass): boolean {
    if (this.mustRebuild) this.rebuild();
    if (this.isClosed) return false;
    const fits = this.policy.counters.every((counter) => {
      const name = nameOf(counter);
      return this.usedOf(name) < ceiling(this.limitOf(name), counter.reserve[callClass]);
    });
    if (!fits) return false;
    for (const name of this.used.keys()) this.add(name, 1, true);
    return true;
  }

  /** A call of an ended 15-minute window counts in its day only. */
  giveBack(known: boolean, isInWindow: boolean): void {
    // A rebuild may have counted the call from the ledger. Then the count stays one too high until the next rebuild, never too low.
    for (const name of this.used.keys()) if (isInWindow || name.endsWith('day')) this.add(name, -1, known);
  }

  private add(name: string, calls: number, isCounted: boolean): void {
    this.sent.set(name, this.sentOf(name) + calls);
    if (isCounted) this.used.set(name, this.usedOf(name) + calls);
  }

  /** The 15-minute windows end, and their calls count no longer. */
  endWindows(): void {
    for (const name of this.used.keys())
      if (!name.endsWith('day')) for (const counts of [this.used, this.sent]) counts.set(name, 0);
  }

  counted(name: string, used: number): void {
    this.used.set(name, Math.max(used, this.usedOf(name)));
  }

  /** The window stays closed to the end of the test, also after Redis lost its keys: the ledger has the 429. */
  closed(): void {
    this.isClosed = true;
  }

  /** A changed limit begins a new epoch, for which the counters are rebuilt. */
  learned(name: string, limit: number): void {
    if (limit !== this.limitOf(name)) this.mustRebuild = true;
    this.limits.set(name, limit);
  }

  /** Redis loses its keys. Calls and limits are read from Postgres before the next permit. */
  forget(): void {
    this.mustRebuild = true;
    for (const counter of this.policy.counters) this.used.set(nameOf(counter), 0);
  }

  private rebuild(): void {
    this.mustRebuild = false;
    for (const [name, used] of this.used) this.used.set(name, Math.max(used, this.sentOf(name)));
  }

  private sentOf(name: string): number {
    return this.sent.get(name) ?? 0;
  }

  usedOf(name: string): number {
    return this.used.get(name) ?? 0;
  }

  limitOf(name: string): number {
    return this.limits.get(name) ?? 0;
  }
}
