import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { register } from 'prom-client';
import { NotFound } from '#platform';
import { eventually } from '../../../../test/harness/eventually.js';
import { MODEL_TIMEOUT_MS, modelRuns } from '../../../../test/harness/model-runs.js';
import { Proxy } from '../../../../test/harness/proxy.js';
import { RedisServer } from '../../../../test/harness/redis-server.js';
import { ReplicaProcess } from '../../../../test/harness/replica-process.js';
import { type Replica, Replicas } from '../../../../test/harness/replicas.js';
import { required } from '../../../../test/harness/servers.js';
import { CauseError } from '../causes.js';
import { DeadlineExceeded, Superseded } from './flight.js';
import { type ShareRequest } from './coalescer.js';

// Longer than any test takes, so that no request ends by its deadline.
const LONG_MS = 50_000;
// A request joins a flight within this time also on a busy machine, and then waits for the rest of it.
const JOINED_MS = 2_000;
// Set MODEL_RUNS=1000 before a release.

const requestFor = (intent: string, more: Partial<ShareRequest> = {}): ShareRequest => ({
  scope: 'test',
  client: 'ann',
  intent,
  deadlineMs: LONG_MS,
  ...more,
});

interface Piece {
  readonly signal: AbortSignal;
  end(value: unknown): void;
  fail(error: Error): void;
}

/** Work that ends when the test ends it or when its signal aborts. */
class Workbench {
  readonly pieces: Piece[] = [];

  readonly work = (signal: AbortSignal): Promise<unknown> =>
    new Promise((resolve, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
      this.pieces.push({ signal, end: resolve, fail: reject });
    });

  async begun(count = 1): Promise<Piece> {
    return eventually('the work', () => this.pieces[count - 1]);
  }
}

const FORESEEN = /^(Superseded|DeadlineExceeded|CauseError|NotFound):|^Error: gone$/;

const settled = async (promises: ReadonlyArray<Promise<unknown>>) =>
  (await Promise.allSettled(promises)).map((one) =>
    one.status === 'fulfilled' ? one.value : (one.reason as Error).name,
  );

async function counted(part: string): Promise<number> {
  const { values } = await register.getSingleMetric('coalesced_requests_total')!.get();
  return values.find(({ labels }) => labels['part'] === part && labels['scope'] === 'test')?.value ?? 0;
}

describe('Coalescer', () => {
  let replicas: Replicas;
  let here: Replica;
  let elsewhere: Replica;
  let bench: Workbench;
  beforeEach(async () => {
    replicas = new Replicas();
    [here, elsewhere] = [await replicas.start(), await replicas.start()];
    bench = new Workbench();
  });
  afterEach(() => replicas.end());

  const share = (intent: string, more?: Partial<ShareRequest>, by = here) =>
    by.coalescer.share(requestFor(intent, more), bench.work);
  const keys = () => here.redis.keys(`${replicas.keyPrefix}*`);
  /** Shares an intent that another replica leads, and waits until this replica follows. */
  async function follow(
    intent: string,
    more?: Partial<ShareRequest>,
    by = elsewhere,
  ): Promise<{ answer: Promise<unknown> }> {
    const before = await counted('followed');
    const answer = share(intent, more, by);
    answer.catch(() => undefined);
    await eventually('the follower', async () => (await counted('followed')) > before);
    return { answer };
  }
  async function nothingIsLeft(): Promise<void> {
    // Abandoned work ends one round trip later.
    await eventually('nothing', () => here.coalescer.size + elsewhere.coalescer.size === 0);
    await eventually('no key', async () => (await keys()).length === 0);
  }

  it('a thousand identical requests in one process run the work once', async () => {
    const all = Array.from({ length: 1_000 }, () => share('a'));
    (await bench.begun()).end({ url: 'x' });
    for (const answer of await Promise.all(all)) expect(answer).toEqual({ url: 'x' });
    expect(bench.pieces).toHaveLength(1);
    await nothingIsLeft();
  });

  it('a thousand identical requests over two replicas run the work once', async () => {
    const before = await counted('followed');
    const all = Array.from({ length: 1_000 }, (_, n) => share('a', {}, n % 2 ? here : elsewhere));
    const piece = await bench.begun();
    await eventually('the follower', async () => (await counted('followed')) > before);
    piece.end({ url: 'x' });
    for (const answer of await Promise.all(all)) expect(answer).toEqual({ url: 'x' });
    expect(bench.pieces).toHaveLength(1);
    expect([here.coalescer.size, elsewhere.coalescer.size]).toEqual([0, 0]);
    // The outcome is kept, for a limited time, for followers that missed the wake-up.
    const [left] = await keys();
    expect(await here.redis.pttl(left!.slice(replicas.keyPrefix.length))).toBeGreaterThan(0);
  });

  it('a failed run rejects with its error in its own process, and with a CauseError in others', async () => {
    const answers = [share('a'), share('a')];
    const piece = await bench.begun();
    const { answer } = await follow('a');
    piece.fail(new NotFound('No such episode'));
    for (const one of answers) await expect(one).rejects.toThrow(NotFound);
    await expect(answer).rejects.toMatchObject({ name: 'CauseError', why: 'not_found' });
    await expect(answer).rejects.toThrow(CauseError);
  });

  it('a request after the end of a run starts a new run', async () => {
    const first = share('a');
    (await bench.begun(1)).end(1);
    expect(await first).toBe(1);
    const second = share('a', {}, elsewhere);
    (await bench.begun(2)).end(2);
    expect(await second).toBe(2);
    await nothingIsLeft();
  });

  it('requests of another client, scope or intent are not shared', async () => {
    const all = [share('a'), share('b'), share('a', { client: 'bob' }), share('a', { scope: 'other' })];
    await bench.begun(4);
    bench.pieces.forEach((piece, index) => piece.end(index));
    expect(new Set(await Promise.all(all)).size).toBe(4);
    await nothingIsLeft();
  });

  it.each([null, 0, '', false, [], { deep: [1, 'ü', null] }])(
    'a follower in another process gets the value %j unchanged',
    async (value) => {
      const first = share('a');
      const piece = await bench.begun();
      const { answer } = await follow('a');
      piece.end(value);
      expect([await first, await answer]).toEqual([value, value]);
    },
  );

  it('names of clients and intents do not appear in Redis keys', async () => {
    const first = share('a secret', { client: '203.0.113.7' });
    const piece = await bench.begun();
    expect((await keys()).join()).not.toMatch(/secret|203/);
    piece.end(1);
    await first;
  });

  describe('when a caller stops waiting', () => {
    it('a caller’s deadline ends neither the run nor the wait of other callers', async () => {
      const lasting = share('a');
      const piece = await bench.begun();
      await expect(share('a', { deadlineMs: 20 })).rejects.toThrow(DeadlineExceeded);
      const { answer } = await follow('a', { deadlineMs: JOINED_MS });
      await expect(answer).rejects.toThrow(DeadlineExceeded);
      expect(piece.signal.aborted).toBe(false);
      piece.end(1);
      expect(await lasting).toBe(1);
    });

    it('an aborted caller rejects at once with its reason, and other callers wait on', async () => {
      const abort = new AbortController();
      const [first, second] = [share('a', { signal: abort.signal }), share('a')];
      const piece = await bench.begun();
      abort.abort(new Error('gone'));
      await expect(first).rejects.toThrow('gone');
      expect(piece.signal.aborted).toBe(false);
      piece.end(1);
      expect(await second).toBe(1);
    });

    it('no work is begun for a caller whose signal has already aborted', async () => {
      await expect(share('a', { signal: AbortSignal.abort(new Error('gone')) })).rejects.toThrow('gone');
      expect(bench.pieces).toHaveLength(0);
      await nothingIsLeft();
    });

    it('the work is aborted when the last caller aborts, and the next request runs the work again', async () => {
      const abort = new AbortController();
      const first = share('a', { signal: abort.signal });
      const piece = await bench.begun();
      abort.abort(new Error('gone'));
      await expect(first).rejects.toThrow('gone');
      await eventually('the end', () => piece.signal.aborted);
      expect(piece.signal.reason).toMatchObject({ message: 'gone' });
      const second = share('a');
      (await bench.begun(2)).end(2);
      expect(await second).toBe(2);
      await nothingIsLeft();
    });

    it('the work goes on for followers in another process, and a returning caller follows it', async () => {
      const abort = new AbortController();
      const first = share('a', { signal: abort.signal });
      const piece = await bench.begun();
      const { answer } = await follow('a');
      abort.abort(new Error('gone'));
      await expect(first).rejects.toThrow('gone');
      const { answer: again } = await follow('a', {}, here);
      piece.end(1);
      expect([await answer, await again]).toEqual([1, 1]);
      expect(bench.pieces).toHaveLength(1);
    });

    it('the work is aborted when the last follower in another process stops waiting', async () => {
      const leaving = new AbortController();
      const first = share('a', { signal: leaving.signal });
      const piece = await bench.begun();
      const { answer } = await follow('a', { deadlineMs: JOINED_MS });
      leaving.abort(new Error('gone'));
      await expect(first).rejects.toThrow('gone');
      expect(piece.signal.aborted).toBe(false);
      await expect(answer).rejects.toThrow(DeadlineExceeded);
      await eventually('the end', () => piece.signal.aborted);
      await nothingIsLeft();
    });

    it('a caller does not wait for work that ignores its signal', async () => {
      const ignoring = here.coalescer.share(
        requestFor('a', { deadlineMs: 50 }),
        () => new Promise(() => undefined),
      );
      await expect(ignoring).rejects.toThrow(DeadlineExceeded);
      await nothingIsLeft();
    });
  });

  describe('when a newer intent supersedes', () => {
    const newest = { supersedes: true };

    it('older requests reject at once with Superseded and their work is aborted', async () => {
      const older = [share('a', newest), share('a', newest)];
      const piece = await bench.begun();
      const newer = share('b', newest);
      for (const one of older) await expect(one).rejects.toThrow(Superseded);
      expect(piece.signal.reason).toBeInstanceOf(Superseded);
      (await bench.begun(2)).end(2);
      expect(await newer).toBe(2);
      await nothingIsLeft();
    });

    it('a newer intent in a third process supersedes both the leader and its follower', async () => {
      const third = await replicas.start();
      const led = share('a', newest);
      led.catch(() => undefined);
      const piece = await bench.begun();
      const { answer: followed } = await follow('a', newest);
      const newer = share('b', newest, third);
      await expect(led).rejects.toThrow(Superseded);
      await expect(followed).rejects.toThrow(Superseded);
      await eventually('the end', () => piece.signal.reason instanceof Superseded);
      (await bench.begun(2)).end(2);
      expect(await newer).toBe(2);
      expect(bench.pieces).toHaveLength(2);
      await nothingIsLeft();
    });

    it('a leader without wake-ups finds by polling that it was superseded', async () => {
      here.subscriber.disconnect();
      const led = share('a', newest);
      led.catch(() => undefined);
      const piece = await bench.begun();
      const newer = share('b', newest, elsewhere);
      await expect(led).rejects.toThrow(Superseded);
      expect(piece.signal.aborted).toBe(true);
      (await bench.begun(2)).end(2);
      expect(await newer).toBe(2);
    });

    it('an intent that was superseded may supersede its successor again', async () => {
      const first = share('a', newest);
      await bench.begun();
      const second = share('b', newest, elsewhere);
      await expect(first).rejects.toThrow(Superseded);
      await bench.begun(2);
      const third = share('a', newest);
      await expect(second).rejects.toThrow(Superseded);
      (await bench.begun(3)).end(3);
      expect(await third).toBe(3);
      await nothingIsLeft();
    });

    it('the last of five intents at once gets its outcome, and the other four are superseded', async () => {
      const all: Array<Promise<unknown>> = [];
      for (const episode of ['1', '2', '3', '4', '5']) {
        all.push(share(episode, newest, Number(episode) % 2 ? here : elsewhere));
        all.at(-1)!.catch(() => undefined);
        // Intents on different connections may overtake each other.
        await bench.begun(all.length);
      }
      await eventually('one left', () => bench.pieces.filter(({ signal }) => !signal.aborted).length === 1);
      bench.pieces.find(({ signal }) => !signal.aborted)!.end('last');
      const switched = Array<string>(4).fill('Superseded');
      expect(await settled(all)).toEqual([...switched, 'last']);
      await nothingIsLeft();
    });

    it('a superseding request ends no request of another client or scope, and no request without supersedes', async () => {
      const all = [
        share('a', newest),
        share('b', { ...newest, client: 'bob' }),
        share('b', { ...newest, scope: 'other' }),
        share('b'),
      ];
      await bench.begun(4);
      bench.pieces.forEach((piece) => piece.end(1));
      expect(await Promise.all(all)).toEqual([1, 1, 1, 1]);
    });
  });

  describe('when a process dies', () => {
    it('one follower takes over from a killed leader, and followers that poll later get the new leader’s outcome', async () => {
      const intents = ['a', 'b', 'c', 'd', 'e'];
      const dying = await ReplicaProcess.start(replicas.url, replicas.keyPrefix);
      for (const intent of intents)
        dying.send('share', { request: requestFor(intent), times: 2, workMs: LONG_MS, value: 'never' });
      await eventually(
        'all are worked on',
        () => dying.lines.filter((line) => 'working' in line).length === 5,
      );
      const followers: Array<{ answer: Promise<unknown> }> = [];
      for (const intent of intents)
        for (const by of [here, elsewhere]) followers.push(await follow(intent, {}, by));
      const before = await counted('took_over');
      await dying.kill();
      for (const count of [1, 2, 3, 4, 5]) (await bench.begun(count)).end('from another');
      for (const { answer } of followers) expect(await answer).toBe('from another');
      expect(bench.pieces).toHaveLength(5);
      expect(await counted('took_over')).toBe(before + 5);
    });

    it('a follower of a killed leader keeps its own deadline', async () => {
      const dying = await ReplicaProcess.start(replicas.url, replicas.keyPrefix);
      dying.send('share', { request: requestFor('a'), times: 1, workMs: LONG_MS, value: 'never' });
      await dying.printed('working');
      const { answer } = await follow('a', { deadlineMs: JOINED_MS });
      await dying.kill();
      await expect(answer).rejects.toThrow(DeadlineExceeded);
      await nothingIsLeft();
    });

    it('a request takes over from a killed leader although Redis’ clock was set back by a day meanwhile', async () => {
      const dying = await ReplicaProcess.start(replicas.url, replicas.keyPrefix);
      dying.send('share', { request: requestFor('a'), times: 1, workMs: LONG_MS, value: 'never' });
      await dying.printed('working');
      await dying.kill();
      const [key] = await keys();
      const bare = key!.slice(replicas.keyPrefix.length);
      const [[intent, flight]] = Object.entries(await here.redis.hgetall(bare)) as [[string, string]];
      const farMs = Date.now() + 86_400_000;
      await here.redis.hset(bare, intent, flight.replace(/ \d+ /, ` ${farMs} `));
      await here.redis.pexpire(bare, 86_400_000);
      const { answer } = await follow('a');
      (await bench.begun()).end('from another');
      expect(await answer).toBe('from another');
    });

    it('a newer intent supersedes the flight of a killed leader', async () => {
      const dying = await ReplicaProcess.start(replicas.url, replicas.keyPrefix);
      dying.send('share', {
        request: requestFor('a', { supersedes: true }),
        times: 1,
        workMs: LONG_MS,
        value: 'never',
      });
      await dying.printed('working');
      const { answer } = await follow('a', { supersedes: true });
      await dying.kill();
      const newer = share('b', { supersedes: true });
      await expect(answer).rejects.toThrow(Superseded);
      (await bench.begun()).end('b');
      expect(await newer).toBe('b');
      await nothingIsLeft();
    });

    it('a newer intent aborts the work in another process', async () => {
      const other = await ReplicaProcess.start(replicas.url, replicas.keyPrefix);
      other.send('share', {
        request: requestFor('a', { supersedes: true }),
        times: 3,
        workMs: LONG_MS,
        value: 'a',
      });
      await other.printed('working');
      const newer = share('b', { supersedes: true });
      expect(await other.printed('answers')).toEqual(Array(3).fill('Superseded'));
      await other.printed('aborted');
      (await bench.begun()).end('b');
      expect(await newer).toBe('b');
      await other.kill();
    });
  });

  describe('when Redis fails', () => {
    it('requests without Redis are shared within the process and counted as alone', async () => {
      const before = await counted('alone');
      here.redis.disconnect();
      const all = [
        share('a'),
        share('a'),
        share('b', { supersedes: true }),
        share('c', { supersedes: true }),
      ];
      all[2]!.catch(() => undefined);
      await bench.begun(2);
      bench.pieces.forEach((piece) => piece.end('alone'));
      expect(await settled(all)).toEqual(['alone', 'alone', 'Superseded', 'alone']);
      expect(await counted('alone')).toBeGreaterThanOrEqual(before + 2);
      expect(here.coalescer.size).toBe(0);
    });

    it('the work without Redis is aborted when the last caller stops waiting', async () => {
      here.redis.disconnect();
      const first = share('a', { deadlineMs: JOINED_MS });
      const piece = await bench.begun();
      await expect(first).rejects.toThrow(DeadlineExceeded);
      expect(piece.signal.aborted).toBe(true);
    });

    it('only the first request waits for the command timeout while Redis is frozen', async () => {
      const proxy = await Proxy.before(required('REDIS_URL'));
      const frozen = await replicas.start(proxy.url, 2_000);
      proxy.freeze();
      const instantly = () => Promise.resolve('done');
      expect(await frozen.coalescer.share(requestFor('a'), instantly)).toBe('done');
      const startedAt = performance.now();
      expect(await frozen.coalescer.share(requestFor('b'), instantly)).toBe('done');
      expect(performance.now() - startedAt).toBeLessThan(1_500);
      await proxy.close();
    });

    it('a follower takes over from a leader that cannot renew its lease, and the requests of both are answered', async () => {
      const proxy = await Proxy.before(required('REDIS_URL'));
      const cutOff = await replicas.start(proxy.url, 500);
      const own = new Workbench();
      const led = cutOff.coalescer.share(requestFor('a'), own.work);
      const piece = await own.begun();
      const { answer } = await follow('a');
      proxy.freeze();
      (await bench.begun()).end('new');
      expect(await answer).toBe('new');
      piece.end('old');
      expect(await led).toBe('old');
      await proxy.close();
    });

    it('a leader that lost its lease aborts its work and repeats the request', async () => {
      const led = share('a', { supersedes: true });
      const piece = await bench.begun();
      const [key] = await keys();
      const bare = key!.slice(replicas.keyPrefix.length);
      const fields = Object.entries(await here.redis.hgetall(bare));
      const [intent, flight] = fields.find(([field]) => field !== 'latest')!;
      // Write another leader into Redis, as if this one had paused for longer than its lease.
      await here.redis.hset(bare, intent, flight.replace(/^\S+ \d+/, 'another 0'));
      await eventually('the end', () => piece.signal.aborted);
      (await bench.begun(2)).end('again');
      expect(await led).toBe('again');
    });

    it('a follower without wake-ups finds the outcome by polling', async () => {
      elsewhere.subscriber.disconnect();
      const first = share('a');
      const piece = await bench.begun();
      const { answer } = await follow('a');
      piece.end(1);
      expect([await first, await answer]).toEqual([1, 1]);
    });

    it('a restarted Redis gets all flights back when the leaders renew their leases', async () => {
      const server = await RedisServer.start();
      const own = new Replicas(server.url);
      const [one, two] = [await own.start(), await own.start()];
      const led = one.coalescer.share(requestFor('a'), bench.work);
      const piece = await bench.begun();
      await server.kill();
      await server.start();
      await eventually('the connections', () => [one, two].every(({ redis }) => redis.status === 'ready'));
      await eventually('the lease again', async () => (await two.redis.keys('*')).length === 1);
      const before = await counted('followed');
      const followed = two.coalescer.share(requestFor('a'), bench.work);
      await eventually('the follower', async () => (await counted('followed')) > before);
      piece.end(1);
      expect([await led, await followed]).toEqual([1, 1]);
      own.end();
      await server.kill();
    });
  });

  it('25,000 requests, ended in every way, leave nothing in memory and no key in Redis', async () => {
    const ways = ['end', 'fail', 'abort', 'late', 'supersede', 'elsewhere'] as const;
    let next = 0;
    const one = async (n: number): Promise<void> => {
      const way = ways[n % ways.length]!;
      const request = requestFor(`${n}`, { client: `c${n}` });
      const ending = (signal: AbortSignal) =>
        new Promise<number>((resolve, reject) => {
          if (way === 'end' || way === 'elsewhere') resolve(n);
          else if (way === 'fail') reject(new Error('broken'));
          else signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
        });
      const by = n % 2 ? here : elsewhere;
      const other = n % 2 ? elsewhere : here;
      if (way === 'end') await by.coalescer.share(request, ending);
      else if (way === 'fail') await expect(by.coalescer.share(request, ending)).rejects.toThrow('broken');
      else if (way === 'late')
        await settled([by.coalescer.share({ ...request, deadlineMs: 1 + (n % 7) }, ending)]);
      else if (way === 'elsewhere')
        await Promise.all([by.coalescer.share(request, ending), other.coalescer.share(request, ending)]);
      else if (way === 'abort') {
        const abort = new AbortController();
        const answer = by.coalescer.share({ ...request, signal: abort.signal }, ending);
        setTimeout(() => abort.abort(new Error('gone')), n % 5);
        await settled([answer]);
      } else {
        // The request that reaches Redis last supersedes the other request. The last request ends at its own deadline.
        const newest = { ...request, supersedes: true, deadlineMs: 50 };
        const older = by.coalescer.share(newest, ending);
        const newer = other.coalescer.share({ ...newest, intent: 'newer' }, ending);
        await settled([older, newer]);
      }
    };
    const client = async () => {
      while (next < 25_000) await one(next++);
    };
    await Promise.all(Array.from({ length: 500 }, client));
    await eventually('nothing', () => here.coalescer.size + elsewhere.coalescer.size === 0);
    const { values } = await register.getSingleMetric('coalesced_flights')!.get();
    expect(values[0]?.value).toBe(0);
    // An outcome expires after five seconds. If this busy process lost a lease, the key that names the next leader is stored for as long as followers wait.
    await eventually('no key', async () => (await keys()).length === 0, 2 * LONG_MS);
  }, 600_000);

  it(
    'every request is answered, and shared work runs once at a time, under random sequences of events',
    async () => {
      const event = fc.record({
        intent: fc.constantFrom('a', 'b', 'c'),
        by: fc.nat(1),
        supersedes: fc.boolean(),
        deadlineMs: fc.constantFrom(5, 30, LONG_MS, LONG_MS),
        abortsAfterMs: fc.option(fc.nat(20)),
        worksMs: fc.nat(25),
        isFine: fc.boolean(),
        pausesMs: fc.constantFrom(0, 0, 1, 5, 20),
      });
      await fc.assert(
        fc.asyncProperty(fc.array(event, { minLength: 3, maxLength: 25 }), fc.nat(), async (events, run) => {
          const working = new Map<string, number>();
          const wrong: string[] = [];
          const all: Array<Promise<void>> = [];
          for (const one of events) {
            const { intent, by, supersedes, deadlineMs, abortsAfterMs, worksMs, isFine } = one;
            // Superseding and plain requests get separate scopes: their guarantees differ.
            const scope = supersedes ? 'replace' : 'share';
            const name = `${scope} ${intent}`;
            const abort = new AbortController();
            if (abortsAfterMs !== null) setTimeout(() => abort.abort(new Error('gone')), abortsAfterMs);
            const request = {
              scope,
              client: `model ${run}`,
              intent,
              supersedes,
              deadlineMs,
              signal: abort.signal,
            };
            const answer = [here, elsewhere][by]!.coalescer.share(request, async (signal) => {
              working.set(name, (working.get(name) ?? 0) + 1);
              // A run superseded in another process may still be ending when its intent is requested again.
              if (!supersedes && working.get(name) !== 1) wrong.push(`${name} is worked on twice at a time`);
              try {
                await pause(worksMs, undefined, { signal });
                if (isFine) return name;
                throw new NotFound();
              } finally {
                working.set(name, working.get(name)! - 1);
              }
            });
            all.push(
              answer.then(
                (value) => void (value !== name && wrong.push(`${name} was answered ${value}`)),
                (error: Error) =>
                  void (!FORESEEN.test(`${error.name}: ${error.message}`) && wrong.push(String(error))),
              ),
            );
            await pause(one.pausesMs);
          }
          await Promise.all(all);
          expect(wrong).toEqual([]);
          await eventually('nothing', () => here.coalescer.size + elsewhere.coalescer.size === 0);
        }),
        modelRuns(25),
      );
    },
    MODEL_TIMEOUT_MS,
  );
});
