import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import Bull, { type JobOptions, type Queue } from 'bull';
import { required } from '../../../../test/harness/servers.js';
import { createLogger } from '../logging/logger.js';
import { createRedis, type RedisClient } from '../redis/redis.js';
import { queueMissing } from './queue-missing.js';

const logger = createLogger({ level: 'silent', process: 'test' });
const LATER_MS = 3_600_000;
const WAITING = { commandTimeout: undefined, maxRetriesPerRequest: null, enableReadyCheck: false };

interface Tick {
  readonly of: string;
}

describe('queueMissing', () => {
  let queue: Queue<Tick>;
  let clients: RedisClient[];
  beforeEach(async () => {
    clients = [];
    const createClient = () => {
      const client = createRedis({ url: required('REDIS_URL'), keyPrefix: '' }, logger, WAITING);
      clients.push(client);
      return client as never;
    };
    queue = new Bull<Tick>('ticks', { prefix: `t:${randomUUID()}:bull`, createClient });
    await queue.isReady();
  });
  afterEach(async () => {
    await queue.obliterate({ force: true });
    await queue.close();
    for (const client of clients) client.disconnect();
  });

  const job = (jobId: string, more: JobOptions = {}) => ({
    data: { of: jobId },
    options: { ...more, jobId },
  });
  const add = (jobId: string, more?: JobOptions) => queue.add({ of: jobId }, { ...more, jobId });
  const stateOf = async (jobId: string) => (await queue.getJob(jobId))?.getState();
  const idsIn = (list: string) => queue.client.lrange(queue.toKey(list), 0, -1);

  it('queueMissing queues a job that the queue does not have', async () => {
    await queueMissing(queue, [job('one'), job('two')]);
    expect(await Promise.all([stateOf('one'), stateOf('two')])).toEqual(['waiting', 'waiting']);
  });

  it.each<[string, JobOptions]>([
    ['wait', {}],
    ['delayed', { delay: LATER_MS }],
  ])('queueMissing queues a job anew whose id was lost with the list %s', async (list, options) => {
    await add('one', options);
    await queue.client.unlink(queue.toKey(list));
    await add('one');
    expect(await stateOf('one')).toBe('stuck');
    await queueMissing(queue, [job('one')]);
    expect(await stateOf('one')).toBe('waiting');
  });

  it('queueMissing queues a job anew whose id was lost while the queue was paused', async () => {
    await queue.pause();
    await add('one');
    await queue.client.unlink(queue.toKey('paused'));
    await queueMissing(queue, [job('one')]);
    expect(await idsIn('paused')).toEqual(['one']);
  });

  it('queueMissing leaves a lost job to the worker that holds its lock, and queues it anew once the lock is gone', async () => {
    await add('one');
    const held = await queue.getNextJob();
    expect(held?.id).toBe('one');
    await queue.client.unlink(queue.toKey('active'));
    await queueMissing(queue, [job('one')]);
    expect(await idsIn('wait')).toEqual([]);
    await held?.releaseLock();
    await queueMissing(queue, [job('one')]);
    expect(await idsIn('wait')).toEqual(['one']);
  });

  it('queueMissing queues a job at once that a worker with a clock a day ahead has delayed by a quarter of an hour', async () => {
    const clockAheadMs = 24 * LATER_MS;
    await add('one', { delay: clockAheadMs + 900_000 });
    await add('two', { delay: 24 * LATER_MS - 60_000 });
    await queueMissing(queue, [job('one'), job('two')]);
    expect(await Promise.all([stateOf('one'), stateOf('two')])).toEqual(['waiting', 'delayed']);
  });

  it('queueMissing leaves jobs that wait, are delayed or are worked on where they are', async () => {
    await add('at work');
    await queue.getNextJob();
    await add('queued');
    await add('put off', { delay: LATER_MS });
    await queueMissing(
      queue,
      ['at work', 'queued', 'put off', 'new'].map((id) => job(id)),
    );
    expect(await idsIn('active')).toEqual(['at work']);
    // The oldest job is the last of the list.
    expect(await idsIn('wait')).toEqual(['new', 'queued']);
    expect(await stateOf('put off')).toBe('delayed');
  });
});
