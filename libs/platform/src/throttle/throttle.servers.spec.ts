import { randomUUID } from 'node:crypto';
import { afterAll, describe, expect, it } from '@jest/globals';
import { Proxy } from '../../../../test/harness/proxy.js';
import { required } from '../../../../test/harness/servers.js';
import { createLogger } from '../logging/logger.js';
import { createRedis } from '../redis/redis.js';
import { Throttle } from './throttle.js';

const logger = createLogger({ level: 'silent', process: 'test' });
const connections: Array<{ disconnect(): void }> = [];

// A busy machine may keep an answer waiting for longer than production would: that is not what is tested here.
const PATIENT = { commandTimeout: 30_000 };

function replica(
  keyPrefix: string,
  url = required('REDIS_URL'),
  perMinute = 600,
  options: object = PATIENT,
): Throttle {
  const redis = createRedis({ url, keyPrefix }, logger, options);
  connections.push(redis);
  return new Throttle(redis, logger, perMinute);
}

async function allowed(throttles: readonly Throttle[], caller: string, requests: number): Promise<number> {
  const answers = await Promise.all(
    Array.from({ length: requests }, (_, n) => (throttles[n % throttles.length] as Throttle).take(caller)),
  );
  return answers.filter((answer) => answer.allowed).length;
}

/** A count that a new minute interrupts starts again, so an answer is taken from within one minute. */
async function withinOneMinute<T>(work: () => Promise<T>): Promise<T> {
  for (;;) {
    const minute = Math.floor(Date.now() / 60_000);
    const result = await work();
    if (Math.floor(Date.now() / 60_000) === minute) return result;
  }
}

describe('the throttle', () => {
  afterAll(() => connections.forEach((redis) => redis.disconnect()));

  it('lets exactly the allowance through, however many ask at once', async () => {
    const count = await withinOneMinute(() => allowed([replica(`t:${randomUUID()}:`)], 'ann', 2_000));
    expect(count).toBe(600);
  });

  it('never exceeds it over several replicas, and wastes at most the blocks they hold', async () => {
    const count = await withinOneMinute(() => {
      const prefix = `t:${randomUUID()}:`;
      return allowed([replica(prefix), replica(prefix), replica(prefix)], 'ann', 3_000);
    });
    expect(count).toBeLessThanOrEqual(600);
    expect(count).toBeGreaterThanOrEqual(600 - 2 * 29);
  });

  it('counts callers apart', async () => {
    await withinOneMinute(async () => {
      const throttle = replica(`t:${randomUUID()}:`, undefined, 5);
      await allowed([throttle], 'ann', 10);
      expect(await allowed([throttle], 'bob', 5)).toBe(5);
    });
  });

  it('says when the minute is over', async () => {
    const throttle = replica(`t:${randomUUID()}:`, undefined, 1);
    const answers = await withinOneMinute(async () => [
      await throttle.take('ann'),
      await throttle.take('ann'),
    ]);
    expect(answers[1]).toMatchObject({ allowed: false });
    const { retryAfterMs } = answers[1] as { retryAfterMs: number };
    expect(retryAfterMs).toBeGreaterThan(0);
    expect(retryAfterMs).toBeLessThanOrEqual(60_000);
  });

  it('lets everybody through while Redis is frozen, and makes only the first wait', async () => {
    const proxy = await Proxy.before(required('REDIS_URL'));
    const throttle = replica(`t:${randomUUID()}:`, proxy.url, 1, {});
    await throttle.take('warm-up');
    proxy.freeze();
    expect(await allowed([throttle], 'ann', 50)).toBe(50);
    // Whoever waits gives the timers of a busy machine a turn; who does not, has its answer at once.
    let turns = 0;
    const counting = setInterval(() => (turns += 1), 1);
    expect(await allowed([throttle], 'bob', 50)).toBe(50);
    clearInterval(counting);
    expect(turns).toBe(0);
    await proxy.close();
  });
});
