import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { createLogger, timeScale } from '#platform';
import { eventually } from '../../../../test/harness/eventually.js';
import { Proxy } from '../../../../test/harness/proxy.js';
import { type Replica, Replicas } from '../../../../test/harness/replicas.js';
import { required } from '../../../../test/harness/servers.js';
import { PromptLimiter, type PromptSlot } from './prompt-limiter.js';

const logger = createLogger({ level: 'silent', process: 'test' });
const LONG_MS = 600_000;

describe('limits of prompt fetches', () => {
  let replicas: Replicas;
  let both: Replica[];
  let limiters: PromptLimiter[];
  let ann: string;
  beforeEach(async () => {
    replicas = new Replicas();
    both = [await replicas.start(), await replicas.start()];
    limiters = both.map(({ redis }) => new PromptLimiter(redis, timeScale(1), logger));
    ann = randomUUID();
  });
  afterEach(() => replicas.end());

  const take = (by = 0, athlete = ann, forMs = LONG_MS) => limiters[by]!.take(athlete, forMs);
  const release = async (slot: PromptSlot) => {
    if (slot.kind === 'taken') await slot.release();
  };
  /** Takes and releases `times` slots, one after the other, through `over` replicas in turn. */
  async function oneByOne(times: number, over = limiters.length): Promise<string[]> {
    const kinds: string[] = [];
    for (let n = 0; n < times; n += 1) {
      const slot = await take(n % over);
      kinds.push(slot.kind);
      await release(slot);
    }
    return kinds;
  }
  const taken = (kinds: readonly string[]) => kinds.filter((kind) => kind === 'taken').length;

  it('allows two prompt fetches of an athlete at once over all replicas, and does not delay other athletes', async () => {
    const slots = [await take(0), await take(1)];
    expect(slots.map(({ kind }) => kind)).toEqual(['taken', 'taken']);
    expect([(await take(0)).kind, (await take(1)).kind]).toEqual(['busy', 'busy']);
    expect((await take(1, randomUUID())).kind).toBe('taken');
    await release(slots[0]!);
    expect((await take(1)).kind).toBe('taken');
    expect((await take(0)).kind).toBe('busy');
  });

  it('allows twenty prompt fetches of an athlete in a window over all replicas', async () => {
    const kinds = await oneByOne(25);
    expect([taken(kinds), kinds.at(-1)]).toEqual([20, 'spent']);
    expect((await take(0, randomUUID())).kind).toBe('taken');
    const left = await both[0]!.redis.pttl(`prompt:{${ann}}:window`);
    expect(left).toBeGreaterThan(0);
    expect(left).toBeLessThanOrEqual(15 * 60_000);
  });

  it('grants exactly two of twenty simultaneous prompt fetches', async () => {
    const kinds = (await Promise.all(Array.from({ length: 20 }, (_, n) => take(n % 2)))).map(
      ({ kind }) => kind,
    );
    expect([taken(kinds), kinds.filter((kind) => kind === 'busy').length]).toEqual([2, 18]);
  });

  it('a prompt fetch that never ends stops counting after its longest duration', async () => {
    await Promise.all([take(0, ann, 1), take(0, ann, 1)]);
    await eventually('both attempts have expired', async () => (await take(1)).kind === 'taken');
  });

  it('a long prompt fetch still counts after a shorter prompt fetch, begun later, has expired', async () => {
    await take(0);
    await take(1, ann, 1);
    await eventually('the shorter one is over', async () => (await take(1, ann, 1)).kind === 'taken');
    await eventually('the second short one is over', async () => (await take(0)).kind === 'taken');
    expect((await take(1)).kind).toBe('busy');
  });

  it('gives every key of the prompt limits an expiry', async () => {
    await take();
    for (const key of ['under-way', 'window'])
      expect(await both[0]!.redis.pttl(`prompt:{${ann}}:${key}`)).toBeGreaterThan(0);
  });

  describe('while Redis is away', () => {
    let proxy: Proxy;
    beforeEach(async () => {
      proxy = await Proxy.before(required('REDIS_URL'));
      const own = await replicas.start(proxy.url);
      limiters = [new PromptLimiter(own.redis, timeScale(1), logger)];
      both = [own];
    });
    afterEach(() => proxy.close());
    const cut = async () => {
      proxy.cut();
      await eventually('the cut', () => both[0]!.redis.status !== 'ready');
    };

    it('each process limits its own prompt fetches while Redis is away, including fetches before the outage', async () => {
      expect(taken(await oneByOne(15))).toBe(15);
      await cut();
      const slots = [await take(), await take()];
      expect(slots.map(({ kind }) => kind)).toEqual(['taken', 'taken']);
      expect((await take()).kind).toBe('busy');
      await Promise.all(slots.map(release));
      const kinds = await oneByOne(5);
      expect([taken(kinds), kinds.at(-1)]).toEqual([3, 'spent']);
    });

    it('a prompt fetch that Redis had granted can end while Redis is away', async () => {
      const slots = [await take(), await take()];
      await cut();
      expect((await take()).kind).toBe('busy');
      await Promise.all(slots.map(release));
      expect((await take()).kind).toBe('taken');
    });
  });
});
