import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { createLogger, createRedis, type RedisClient, timeScale } from '#platform';
import { eventually } from '../../../test/harness/eventually.js';
import { Proxy } from '../../../test/harness/proxy.js';
import { required } from '../../../test/harness/servers.js';
import { type BatchLock, BatchLocks } from './batch-lock.js';

const logger = createLogger({ level: 'silent', process: 'test' });

describe('BatchLocks', () => {
  let proxy: Proxy;
  let mine: RedisClient;
  let others: RedisClient;
  let locks: BatchLocks;
  let elsewhere: BatchLocks;
  const newOwner = () => ({ athleteId: randomUUID(), provider: 'strava' }) as const;
  const owner = newOwner();

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

  it('one worker at a time holds the batch lock of an athlete and vendor', async () => {
    const lock = (await locks.take(owner)) as BatchLock;
    expect(await elsewhere.take(owner)).toBeUndefined();
    expect(await elsewhere.take(newOwner())).toBeDefined();
    expect(await elsewhere.take({ ...owner, provider: 'oura' })).toBeDefined();
    expect(await lock.renew()).toBe(true);
    await lock.release();
    const other = (await elsewhere.take(owner)) as BatchLock;
    expect(await lock.renew()).toBe(false);
    await lock.release();
    expect(await other.renew()).toBe(true);
  });

  it.each(['cut', 'freeze'] as const)(
    'a batch lock that could not be released while Redis was away (%s) is released when Redis returns',
    async (way) => {
      const lock = (await locks.take(owner)) as BatchLock;
      proxy[way]();
      await expect(lock.release()).rejects.toThrow();
      expect(await elsewhere.take(owner)).toBeUndefined();
      proxy.heal();
      await eventually('another may take it', () => elsewhere.take(owner));
    },
  );
});
