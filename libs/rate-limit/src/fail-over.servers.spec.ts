import { once } from 'node:events';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { eventually } from '../../../test/harness/eventually.js';
import { Proxy } from '../../../test/harness/proxy.js';
import { RedisServer } from '../../../test/harness/redis-server.js';
import {
  atOnce,
  BudgetWorkers,
  call,
  granted,
  policyWithoutBoundaries,
  type TestWorker,
} from './budget.harness.js';
import { type VendorBudget } from './vendor-budget.js';

const LIMIT = 20;
const policy = policyWithoutBoundaries({ '15min': LIMIT, day: LIMIT });

describe('a budget whose Redis fails over', () => {
  let workers: BudgetWorkers;
  let one: RedisServer;
  let other: RedisServer;
  let proxy: Proxy;
  beforeEach(async () => {
    [workers, one, other] = await Promise.all([
      BudgetWorkers.begin(),
      RedisServer.start('--repl-diskless-sync-delay', '0'),
      RedisServer.start('--repl-diskless-sync-delay', '0'),
    ]);
    proxy = await Proxy.before(one.url);
    await follow(other, one);
  });
  afterEach(async () => {
    await workers.end();
    await proxy.close();
    await Promise.all([one.kill(), other.kill()]);
  });

  const permits = async (budget: VendorBudget, count: number) =>
    granted(await atOnce(count, () => budget.requestPermit(call('live')))).length;
  /** Waits until the client has noticed that its connection is broken, and has a new one. */
  async function reconnected({ redis }: TestWorker, lose: () => Promise<void> | void): Promise<void> {
    const closed = once(redis, 'close');
    await lose();
    await closed;
    await eventually('the connection', () => redis.status === 'ready');
  }
  const worker = () => workers.start({ policy, url: proxy.url });

  it('the budget gives no permit twice after a replica that lacked the newest calls became the master', async () => {
    const client = await worker();
    const { budget } = client;
    expect(await permits(budget, 5)).toBe(5);
    await hasSame(other, one);
    await promote(other);
    // These calls are counted by the old master and by the ledger only.
    expect(await permits(budget, 7)).toBe(7);
    await reconnected(client, () => proxy.moveTo(other.url));
    expect(await permits(budget, LIMIT)).toBe(LIMIT - 12);
  });

  it('the budget gives no permit twice after the old master has followed the new one and is the master again', async () => {
    const { budget } = await worker();
    expect(await permits(budget, 5)).toBe(5);
    await hasSame(other, one);
    await promote(other);
    expect(await permits(budget, 7)).toBe(7);
    // No request for a permit meets the other server, and the connection to the first one stays.
    await follow(one, other);
    await promote(one);
    expect(await permits(budget, LIMIT)).toBe(LIMIT - 12);
  });

  it('a worker that still reaches the old master gets no permit after another worker has used the new master', async () => {
    const old = await workers.start({ policy, url: one.url, prefix: 't:both:' });
    expect(await permits(old.budget, 5)).toBe(5);
    await hasSame(other, one);
    await promote(other);
    const { budget } = await workers.start({ policy, url: other.url, prefix: 't:both:' });
    const before = (await permits(budget, 4)) + (await permits(old.budget, 4)) + (await permits(budget, 4));
    expect(before).toBe(12);
    expect((await permits(old.budget, LIMIT)) + (await permits(budget, LIMIT))).toBe(LIMIT - 17);
  });

  it('a Redis that starts again from an old dump is rebuilt from the ledger', async () => {
    const client = await worker();
    const { budget, redis } = client;
    expect(await permits(budget, 5)).toBe(5);
    // A replica that has just joined may still get its copy, and Redis saves once at a time.
    await eventually('a dump', () =>
      one.command('SAVE').then(
        () => true,
        (error: Error) => {
          if (!error.message.includes('in progress')) throw error;
          return false;
        },
      ),
    );
    expect(await permits(budget, 7)).toBe(7);
    await reconnected(client, async () => {
      await one.crash();
      await one.start();
    });
    expect(await redis.exists('strava:rate:state')).toBe(1);
    expect(await permits(budget, LIMIT)).toBe(LIMIT - 12);
  });
});

async function follow(replica: RedisServer, master: RedisServer): Promise<void> {
  await replica.command('REPLICAOF', '127.0.0.1', master.port);
  await eventually('the replica', async () =>
    String(await replica.command('INFO', 'replication')).includes('master_link_status:up'),
  );
}

async function promote(replica: RedisServer): Promise<void> {
  await replica.command('REPLICAOF', 'NO', 'ONE');
}

async function hasSame(replica: RedisServer, master: RedisServer): Promise<void> {
  const offsetOf = async (server: RedisServer) =>
    /master_repl_offset:(\d+)/.exec(String(await server.command('INFO', 'replication')))?.[1];
  await eventually('the same data', async () => (await offsetOf(replica)) === (await offsetOf(master)));
}
