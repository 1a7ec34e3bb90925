import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { timeScale } from '#platform';
import { eventually } from '../../../test/harness/eventually.js';
import { Proxy } from '../../../test/harness/proxy.js';
import { required } from '../../../test/harness/servers.js';
import { type Permit } from './acquisition.js';
import {
  atOnce,
  call,
  CLASSES,
  eternal,
  forget,
  granted,
  logger,
  type Setting,
  type TestWorker,
  Workers,
} from './budget.harness.js';
import { Ledger } from './ledger.js';
import { type CallClass, ceiling, strava, type VendorPolicy } from './policy.js';
import { VendorBudget } from './vendor-budget.js';
import { windowAt } from './windows.js';

describe('the budget', () => {
  let workers: Workers;
  beforeAll(async () => (workers = await Workers.begin()));
  afterAll(() => workers.end());
  const worker = (setting: Setting) => workers.start(setting);
  const freshLedger = () => workers.freshLedger();

  it('gives each class exactly what it may have, whoever asks and however many at once', async () => {
    await freshLedger();
    const one = await worker({});
    const two = await worker({ prefix: one.prefix });
    const ask = (callClass: CallClass) => (n: number) => (n % 2 ? one : two).budget.acquire(call(callClass));
    expect(granted(await atOnce(150, ask('backfill')))).toHaveLength(81);
    expect(granted(await atOnce(50, ask('import')))).toHaveLength(95 - 81);
    expect(granted(await atOnce(50, ask('live')))).toHaveLength(5);
    const refusal = await one.budget.acquire(call('live'));
    expect(refusal).toMatchObject({ kind: 'refused', window: 'read 15min' });
  });

  it('names the window that lasts longest, and charges nothing when one refuses', async () => {
    await freshLedger();
    const { budget } = await worker({ policy: eternal({ '15min': 50, day: 10 }) });
    await atOnce(20, () => budget.acquire(call('live')));
    expect(await budget.acquire(call('live'))).toMatchObject({ kind: 'refused', window: 'read day' });
    const used = (await budget.gauges()).map((gauge) => gauge.used);
    expect(used).toEqual([10, 10, 10, 10]);
  });

  it('records every call before it is sent, and its status after', async () => {
    await freshLedger();
    const { budget } = await worker({});
    const [permit] = granted([await budget.acquire(call('import', { endpoint: 'streams' }))]);
    const row = 'select endpoint, class, status from strava_api_requests';
    expect((await workers.database.query(row)).rows).toEqual([
      { endpoint: 'streams', class: 'import', status: null },
    ]);
    await budget.settle(permit as Permit, 200, []);
    expect((await workers.database.query(row)).rows).toEqual([
      { endpoint: 'streams', class: 'import', status: 200 },
    ]);
  });

  it('believes the vendor where it has counted more, and learns its limits', async () => {
    await freshLedger();
    const { budget } = await worker({});
    const [permit] = granted([await budget.acquire(call('live'))]);
    const told = { bucket: 'read', window: '15min', limit: 200, used: 150 };
    await budget.settle(permit as Permit, 200, [told]);
    expect((await budget.gauges())[0]).toMatchObject({ used: 150, limit: 200, remaining: 50 });
    expect(granted(await atOnce(60, () => budget.acquire(call('import'))))).toHaveLength(190 - 150);
    await budget.settle(permit as Permit, 200, [{ ...told, used: 20 }]);
    expect((await budget.gauges())[0]).toMatchObject({ used: 190 });
  });

  it('takes back a permit that was not used', async () => {
    await freshLedger();
    const { budget } = await worker({ policy: eternal({ '15min': 1, day: 10 }) });
    const [permit] = granted([await budget.acquire(call('live'))]);
    expect(granted([await budget.acquire(call('live'))])).toHaveLength(0);
    await budget.giveBack(permit as Permit);
    expect(granted([await budget.acquire(call('live'))])).toHaveLength(1);
    expect((await workers.database.query('select from strava_api_requests')).count).toBe(1);
  });

  it('holds at most four slots, and frees one on every way out', async () => {
    await freshLedger();
    const { budget } = await worker({});
    const detail = () => budget.acquire(call('live', { holdsSlot: true }));
    const permits = granted(await atOnce(10, detail));
    expect(permits).toHaveLength(4);
    expect(await detail()).toMatchObject({ kind: 'refused', window: 'slot' });
    await budget.settle(permits[0] as Permit, 200, []);
    await budget.giveBack(permits[1] as Permit);
    expect(granted(await atOnce(10, detail))).toHaveLength(2);
  });

  it('is rebuilt from the ledger when Redis has forgotten, by one of two workers', async () => {
    await freshLedger();
    const one = await worker({});
    const two = await worker({ prefix: one.prefix });
    await atOnce(60, () => one.budget.acquire(call('live')));
    await forget(one.redis, one.prefix);
    const ask = (n: number) => (n % 2 ? one : two).budget.acquire(call('live'));
    expect(granted(await atOnce(100, ask))).toHaveLength(40);
  });

  it('cannot be overdrawn by a permit from before a rebuild', async () => {
    await freshLedger();
    const policy = eternal({ '15min': 10, day: 100 });
    const one = await worker({ policy });
    const two = await worker({ policy, prefix: one.prefix });
    await one.budget.acquire(call('live'));
    // Granted, and not yet recorded when everything is forgotten and rebuilt without it.
    const early = await one.budget.decide(call('live'));
    await forget(one.redis, one.prefix);
    expect(granted(await atOnce(20, () => two.budget.acquire(call('live'))))).toHaveLength(9);
    const ledger = new Ledger(workers.database, 'strava');
    const { state } = early as { state: string };
    const late = { userId: null, endpoint: 'late', class: 'live' as const, windowId: 0, dayId: 0 };
    expect(await ledger.record(late, Number(state.split(':')[0]))).toBeUndefined();
  });

  it('lets only live calls through while Redis is away, by the count of the ledger, and counts them when it is back', async () => {
    await freshLedger();
    const policy = eternal({ '15min': 10, day: 100 });
    const proxy = await Proxy.before(required('REDIS_URL'));
    const cutOff = await worker({ policy, url: proxy.url });
    const other = await worker({ policy, prefix: cutOff.prefix });
    await atOnce(4, () => cutOff.budget.acquire(call('live')));
    proxy.cut();
    await eventually('the cut', () => cutOff.redis.status !== 'ready');
    expect(await cutOff.budget.acquire(call('import'))).toEqual({ kind: 'unavailable' });
    expect(await cutOff.budget.acquire(call('backfill'))).toEqual({ kind: 'unavailable' });
    const [permit, ...more] = granted(await atOnce(3, () => cutOff.budget.acquire(call('live'))));
    expect(more).toHaveLength(2);
    await cutOff.budget.settle(permit as Permit, 200, [
      { bucket: 'read', window: '15min', limit: 10, used: 7 },
    ]);
    expect(granted(await atOnce(10, () => other.budget.acquire(call('live'))))).toHaveLength(3);
    expect(await cutOff.budget.acquire(call('live'))).toMatchObject({
      kind: 'refused',
      window: 'read 15min',
    });
    proxy.heal();
    await eventually('the connection again', () => cutOff.redis.status === 'ready');
    await proxy.close();
  });

  it('is neither spent nor guessed at while Postgres cannot record', async () => {
    await freshLedger();
    const { budget, redis } = await worker({ policy: eternal({ '15min': 5, day: 100 }) });
    await budget.acquire(call('live'));
    const failing = new VendorBudget(
      eternal({ '15min': 5, day: 100 }),
      redis,
      Object.assign(Object.create(Ledger.prototype) as Ledger, new Ledger(workers.database, 'strava'), {
        record: () => Promise.reject(new Error('connection terminated')),
      }),
      timeScale(1),
      logger,
    );
    for (let time = 0; time < 10; time += 1)
      expect(await failing.acquire(call('live'))).toEqual({ kind: 'unavailable' });
    expect(granted(await atOnce(10, () => budget.acquire(call('live'))))).toHaveLength(4);
  });

  it('agrees with a model, whatever happens in whatever order', async () => {
    const policy = eternal({ '15min': 12, day: 30 });
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
      { weight: 1, arbitrary: fc.tuple(fc.constant('429' as const), by, fc.constantFrom('bare', 'lies')) },
    );
    await fc.assert(
      fc.asyncProperty(fc.array(event, { minLength: 5, maxLength: 60 }), async (events) => {
        await freshLedger();
        const one = await worker({ policy });
        const workers = [one, await worker({ policy, prefix: one.prefix })];
        const model = new Model(policy);
        const permits: Permit[] = [];
        for (const [kind, index, value] of events) {
          const { budget, redis, prefix } = workers[index % 2] as typeof one;
          const newest = permits.at(-1);
          if (kind === 'acquire') {
            const answer = await budget.acquire(call(value));
            expect(answer.kind).toBe(model.acquire(value) ? 'granted' : 'refused');
            permits.push(...granted([answer]));
          } else if (kind === 'acquire together') {
            const ask = (n: number) => (workers[n % 2] as typeof one).budget.acquire(call(value));
            const answers = await atOnce(index, ask);
            const expected = Array.from({ length: index }, () => model.acquire(value));
            permits.push(...granted(answers));
            expect(granted(answers)).toHaveLength(expected.filter(Boolean).length);
          } else if (kind === 'forget') {
            await forget(redis, prefix);
            model.forget();
          } else if (newest && kind === 'give back') {
            permits.pop();
            await budget.giveBack(newest);
            model.giveBack((await redis.get('strava:rate:state')) === newest.state);
          } else if (newest && kind === 'count more') {
            const used = model.usedOf('read 15min') + value;
            await budget.settle(newest, 200, [
              { bucket: 'read', window: '15min', limit: model.limitOf('read 15min'), used },
            ]);
            if (await redis.exists(newest.keys[0] as string)) model.counted('read 15min', used);
          } else if (newest && kind === 'change limit') {
            await budget.settle(newest, 200, [{ bucket: 'read', window: '15min', limit: value, used: 0 }]);
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
      { numRuns: 60 },
    );
  });

  it('keeps every window of a vendor whose clock is off, over many boundaries', async () => {
    await freshLedger();
    const scale = 900;
    const vendor = new SkewedVendor(scale);
    const one = await worker({ policy: strava, scale });
    const two = await worker({ policy: strava, scale, prefix: one.prefix });
    const endsAtMs = Date.now() + 3_500;
    const hammer = async ({ budget }: TestWorker, skewMs: number) => {
      while (Date.now() < endsAtMs) {
        const answer = await budget.acquire(call('live'));
        if (answer.kind !== 'granted') continue;
        if (budget.isFresh(answer.permit)) vendor.receive(skewMs);
        else await budget.giveBack(answer.permit);
      }
    };
    // The same vendor seen through clocks that are 45 ms fast and slow, of the 50 ms that are guarded.
    await Promise.all([hammer(one, 45), hammer(one, -45), hammer(two, 45), hammer(two, -45)]);
    expect(vendor.fullest()).toBeLessThanOrEqual(100);
    expect(vendor.windowsSeen()).toBeGreaterThanOrEqual(3);
  });
});

/** Counts by its own clock, as the vendor does. */
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

/** What the budget should be: a few counters, a ledger that remembers what was sent, and nothing else. */
class Model {
  private readonly limits = new Map<string, number>();
  private readonly used = new Map<string, number>();
  private sent = 0;
  private forgotten = false;
  private isClosed = false;

  constructor(private readonly policy: VendorPolicy) {
    this.forget();
  }

  acquire(callClass: CallClass): boolean {
    if (this.forgotten) this.rebuild();
    if (this.isClosed) return false;
    const fits = this.policy.counters.every((counter) => {
      const name = `${counter.bucket} ${counter.window}`;
      return this.usedOf(name) < ceiling(this.limitOf(name), counter.reserve[callClass]);
    });
    if (!fits) return false;
    this.sent += 1;
    for (const [name, used] of this.used) this.used.set(name, used + 1);
    return true;
  }

  giveBack(known: boolean): void {
    this.sent -= 1;
    // A counter rebuilt since has it from the ledger and keeps it until it is rebuilt again: one too many, never one too few.
    if (known) for (const [name, used] of this.used) this.used.set(name, used - 1);
  }

  counted(name: string, used: number): void {
    this.used.set(name, Math.max(used, this.usedOf(name)));
  }

  /** For as long as these windows last, also where Redis forgets: the ledger has the 429. */
  closed(): void {
    this.isClosed = true;
  }

  learned(name: string, limit: number): void {
    this.limits.set(name, limit);
  }

  /** Redis forgets; the ledger does not, and is asked by whoever acquires next. */
  forget(): void {
    this.forgotten = true;
    for (const { bucket, window, limit } of this.policy.counters)
      this.limits.set(`${bucket} ${window}`, limit);
  }

  private rebuild(): void {
    this.forgotten = false;
    for (const { bucket, window } of this.policy.counters) this.used.set(`${bucket} ${window}`, this.sent);
  }

  usedOf(name: string): number {
    return this.used.get(name) ?? 0;
  }

  limitOf(name: string): number {
    return this.limits.get(name) ?? 0;
  }
}
