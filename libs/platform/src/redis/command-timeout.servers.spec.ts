import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { eventually } from '../../../../test/harness/eventually.js';
import { RedisServer } from '../../../../test/harness/redis-server.js';
import { createLogger } from '../logging/logger.js';
import { createRedis, type RedisClient } from './redis.js';

const TIMEOUT_MS = 500;
const logger = createLogger({ level: 'silent', process: 'test' });

/** Keeps the event loop from running. */
function standStill(ms: number): void {
  const untilMs = performance.now() + ms;
  while (performance.now() < untilMs);
}

describe('a command of a Redis client', () => {
  let server: RedisServer;
  let redis: RedisClient;
  beforeEach(async () => {
    server = await RedisServer.start();
    const options = { commandTimeout: TIMEOUT_MS, enableOfflineQueue: false };
    redis = createRedis({ url: server.url, keyPrefix: `t:${randomUUID()}:` }, logger, options);
    await eventually('the connection', () => redis.status === 'ready');
  });
  afterEach(async () => {
    redis.disconnect();
    await server.kill();
  });

  it('a command gets the reply that arrived while its process stood still for longer than the timeout', async () => {
    await redis.set('key', 'value');
    const replies = [redis.get('key'), redis.eval("return redis.call('GET', KEYS[1])", 1, 'key')];
    standStill(TIMEOUT_MS + 200);
    expect(await Promise.all(replies)).toEqual(['value', 'value']);
  });

  it('a hundred commands get their replies after their process stood still, also those of a pipeline', async () => {
    // After a reply the timers run before the next one is read.
    await redis.ping();
    const pipeline = redis.pipeline();
    for (let n = 0; n < 50; n += 1) pipeline.incr('piped');
    const replies = [...Array.from({ length: 50 }, () => redis.incr('plain')), pipeline.exec()];
    standStill(TIMEOUT_MS + 200);
    await Promise.all(replies);
    expect(await redis.mget('plain', 'piped')).toEqual(['50', '50']);
  });

  it('a command to a frozen Redis fails after the timeout, also if its process stood still', async () => {
    server.freeze();
    const startedAtMs = performance.now();
    await expect(redis.get('key')).rejects.toThrow('Command timed out');
    const tookMs = performance.now() - startedAtMs;
    expect(tookMs).toBeGreaterThan(TIMEOUT_MS - 50);
    expect(tookMs).toBeLessThan(10 * TIMEOUT_MS);
    const late = redis.get('key');
    standStill(TIMEOUT_MS + 200);
    await expect(late).rejects.toThrow('Command timed out');
    server.thaw();
  });

  it('a reply of a command that timed out is not given to the next command', async () => {
    await redis.set('one', '1');
    await redis.set('two', '2');
    server.freeze();
    await expect(redis.get('one')).rejects.toThrow('Command timed out');
    const next = redis.get('two');
    server.thaw();
    expect(await next).toBe('2');
  });
});
