import { randomUUID } from 'node:crypto';
import { afterAll, describe, expect, it } from '@jest/globals';
import { Proxy } from '../../../../test/harness/proxy.js';
import { required } from '../../../../test/harness/servers.js';
import { createLogger } from '../logging/logger.js';
import { createRedis } from '../redis/redis.js';
import { Throttle } from './throttle.js';

const logger = createLogger({ level: 'silent', process: 'test' });
const connections: Array<{ disconnect(): void }> = [];

// The timeout is long, because Redis answers late on a busy machine, and these tests do not check the timeout.
const PATIENT = { commandTimeout: 30_000 };

function replica(keyPrefix: string, url = required('REDIS_URL'), options: object = PATIENT): Throttle {
  const redis = createRedis({ url, keyPrefix }, logger, options);
  connections.push(redis);
  return new Throttle(redis, logger);
}

async function allowed(
  throttles: readonly Throttle[],
  caller: string,
  requests: number,
  perMinute = 600,
): Promise<number> {
  const answers = await Promise.all(
    Array.from({ length: requests }, (_, n) =>
      (throttles[n % throttles.length] as Throttle).take(caller, perMinute),
    ),
  );
  return answers.filter((answer) => answer.allowed).length;
}

/** Repeats the work until it begins and ends in the same minute, because a new minute begins a new count. The work only counts; the test compares. */
async function withinOneMinute<T>(work: () => Promise<T>): Promise<T> {
  for (;;) {
    const minute = Math.floor(Date.now() / 60_000);
    const result = await work();
    if (Math.floor(Date.now() / 60_000) === minute) return result;
  }
}

describe('the throttle', () => {
  afterAll(() => connections.forEach((redis) => redis.disconnect()));

  it('the throttle allows exactly 600 of 2,000 concurrent requests', async () => {
    const count = await withinOneMinute(() => allowed([replica(`t:${randomUUID()}:`)], 'ann', 2_000));
    expect(count).toBe(600);
  });

  it('the throttle never allows more than 600 requests over three replicas, nor fewer than 542', async () => {
    const count = await withinOneMinute(() => {
      const prefix = `t:${randomUUID()}:`;
      return allowed([replica(prefix), replica(prefix), replica(prefix)], 'ann', 3_000);
    });
    expect(count).toBeLessThanOrEqual(600);
    expect(count).toBeGreaterThanOrEqual(600 - 2 * 29);
  });

  it('the throttle counts each caller separately', async () => {
    const ofBob = await withinOneMinute(async () => {
      const throttle = replica(`t:${randomUUID()}:`);
      await allowed([throttle], 'ann', 10, 5);
      return allowed([throttle], 'bob', 5, 5);
    });
    expect(ofBob).toBe(5);
  });

  it('the throttle allows each caller the number of requests that belongs to the caller', async () => {
    const counts = await withinOneMinute(async () => {
      const throttle = replica(`t:${randomUUID()}:`);
      return [await allowed([throttle], 'a backend', 7_000, 6_000), await allowed([throttle], 'ann', 700)];
    });
    expect(counts).toEqual([6_000, 600]);
  });

  it('the throttle returns the time until the minute ends', async () => {
    const throttle = replica(`t:${randomUUID()}:`);
    const answers = await withinOneMinute(async () => [
      await throttle.take('ann', 1),
      await throttle.take('ann', 1),
    ]);
    for (const [index, allowed] of [true, false].entries()) {
      const { resetMs, ...rest } = answers[index]!;
      expect(rest).toEqual({ allowed, remaining: 0 });
      expect(resetMs).toBeGreaterThan(0);
      expect(resetMs).toBeLessThanOrEqual(60_000);
    }
  });

  it('the throttle returns the remaining requests, exactly with one replica, and roughly with two replicas', async () => {
    const answers = await withinOneMinute(async () => {
      const prefix = `t:${randomUUID()}:`;
      const [one, other] = [replica(prefix), replica(prefix)];
      const first = await one.take('ann', 600);
      const second = await one.take('ann', 600);
      return [first, second, await other.take('ann', 600), await one.take('ann', 600)];
    });
    expect(answers.map(({ remaining }) => remaining)).toEqual([599, 598, 569, 597]);
  });

  it('the throttle allows all requests while Redis is frozen, and only the first requests wait for the timeout', async () => {
    const proxy = await Proxy.before(required('REDIS_URL'));
    const throttle = replica(`t:${randomUUID()}:`, proxy.url, {});
    await throttle.take('warm-up', 1);
    proxy.freeze();
    expect(await allowed([throttle], 'ann', 50, 1)).toBe(50);
    // A request that waits would let the timer fire; a request that does not wait has its answer at once.
    let turns = 0;
    const counting = setInterval(() => (turns += 1), 1);
    expect(await allowed([throttle], 'bob', 50, 1)).toBe(50);
    clearInterval(counting);
    expect(turns).toBe(0);
    await proxy.close();
  });
});
