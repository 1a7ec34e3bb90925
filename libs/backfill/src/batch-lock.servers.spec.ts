import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type Redis } from 'ioredis';
import { createLogger, createRedis, timeScale } from '#platform';
import { eventually } from '../../../test/harness/eventually.js';
import { Proxy } from '../../../test/harness/proxy.js';
import { required } from '../../../test/harness/servers.js';
import { type BatchLock, BatchLocks } from './batch-lock.js';

const logger = createLogger({ level: 'silent', process: 'test' });

describe('the lock of a batch', () => {
  let proxy: Proxy;
  let mine: Redis;
  let others: Redis;
  let locks: BatchLocks;
  let elsewhere: BatchLocks;
  const athlete = randomUUID();

  beforeEach(async () => {
    proxy = await Proxy.before(required('REDIS_URL'));
    const keyPrefix = `t:${randomUUID()}:`;
    mine = createRedis({ url: proxy.url, keyPrefix }, logger);
    others = createRedis({ url: required('REDIS_URL'), keyPrefix }, logger);
    locks = new BatchLocks(mine, timeScale(1), logger);
    elsewhere = new BatchLocks(others, timeScale(1), logger);
  });
  afterEach(async () => {
    mine.disconnect();
    others.disconnect();
    await proxy.close();
  });

  it('is one worker’s at a time', async () => {
    const lock = (await locks.take(athlete)) as BatchLock;
    expect(await elsewhere.take(athlete)).toBeUndefined();
    expect(await elsewhere.take(randomUUID())).toBeDefined();
    expect(await lock.renew()).toBe(true);
    await lock.release();
    const other = (await elsewhere.take(athlete)) as BatchLock;
    expect(await lock.renew()).toBe(false);
    await lock.release();
    expect(await other.renew()).toBe(true);
  });

  it.each(['cut', 'freeze'] as const)(
    'that could not be given back while Redis was away (%s), is given back when it returns',
    async (way) => {
      const lock = (await locks.take(athlete)) as BatchLock;
      proxy[way]();
      await expect(lock.release()).rejects.toThrow();
      expect(await elsewhere.take(athlete)).toBeUndefined();
      proxy.heal();
      await eventually('another may take it', () => elsewhere.take(athlete));
    },
  );
});
