import { randomUUID } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { basename } from 'node:path';
import { getQueueToken, BullModule } from '@nestjs/bull';
import { type INestApplicationContext, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Job, type Queue } from 'bull';
import {
  type Config,
  createLogger,
  createRedis,
  QueueModule,
  type RedisClient,
  subscribeToWakeUps,
  timeScale,
  wakeUpPublisher,
} from '#platform';
import { budgetConnection, Budgets, Ledger, type Permit, VendorBudget } from '#rate-limit';
import { DecisionLog } from '#reliability';
import { VENDORS, VENDOR_IDS, type VendorId } from '#vendors';
import { ArchiveLease } from '../../libs/account/src/archive-lease.js';
import { type BatchLock, BatchLocks } from '../../libs/backfill/src/batch-lock.js';
import { Pace } from '../../libs/backfill/src/pace.js';
import { SurroundingsModule } from '../../libs/platform/src/process/surroundings.module.js';
import { checkRedis } from '../../libs/platform/src/redis/check-redis.js';
import { probeRedis } from '../../libs/platform/src/redis/redis-fitness.js';
import { Throttle } from '../../libs/platform/src/throttle/throttle.js';
import { PromptLimiter } from '../../libs/streams/src/reading/prompt-limiter.js';
import { eventually } from '../harness/eventually.js';
import { RedisCluster } from '../harness/redis-cluster.js';
import { Replicas } from '../harness/replicas.js';
import { type OpenDatabase, openTestDatabase } from '../harness/test-database.js';

const logger = createLogger({ level: 'silent', process: 'test' });
const scale = timeScale(1);
// A busy machine must not fail these tests.
const PATIENT = { commandTimeout: 30_000 };

describe('a Redis Cluster of three masters', () => {
  let cluster: RedisCluster;
  let open: OpenDatabase;
  let replicas: Replicas;
  let config: Config['redis'];
  let redis: RedisClient;
  let budgetRedis: RedisClient;
  const used: RedisClient[] = [];
  beforeAll(async () => {
    [cluster, open] = await Promise.all([RedisCluster.start(), openTestDatabase()]);
    config = { url: cluster.url, keyPrefix: `t:${randomUUID()}:` };
    replicas = new Replicas(config.url, config.keyPrefix);
    redis = createRedis(config, logger, PATIENT);
    budgetRedis = budgetConnection(config, logger, PATIENT);
    used.push(redis, budgetRedis);
    await eventually('the connections', () => used.every(({ status }) => status === 'ready'));
  });
  afterAll(async () => {
    for (const client of used) client.disconnect();
    replicas.end();
    await open.close();
    await cluster.stop();
  });

  const budgetOf = (vendor: VendorId) =>
    new VendorBudget(VENDORS[vendor].limits, budgetRedis, new Ledger(open.database, vendor), scale, logger);

  async function permitOf(budget: VendorBudget): Promise<Permit> {
    const call = { class: 'live', endpoint: 'activity', userId: null, holdsSlot: true } as const;
    // Near a boundary of a real window the budget makes the caller wait.
    const outcome = await budget.waitForPermit(call, { waitMs: 30_000 });
    if (outcome.kind !== 'granted') throw new Error(`no permit: ${JSON.stringify(outcome)}`);
    return outcome.permit;
  }

  it.each(VENDOR_IDS)(
    'the budget of %s charges, settles, gives back and closes its windows',
    async (vendor) => {
      const { counters } = VENDORS[vendor].limits;
      const budget = budgetOf(vendor);
      const [first, second] = [await permitOf(budget), await permitOf(budget)];
      await budget.giveBack(second);
      // The vendor has counted three calls of another program.
      const usage = counters.map(({ bucket, window, limit }) => ({ bucket, window, limit, used: 4 }));
      await budget.settle(first, 200, usage);
      expect((await budget.gauges()).map((gauge) => gauge.used)).toEqual(counters.map(() => 4));
      expect(await budget.settle(await permitOf(budget), 429, [])).toMatchObject({ kind: 'notNow' });
      const other = budgetOf(vendor);
      const answer = await other.requestPermit({ class: 'live', endpoint: 'activity', userId: null });
      expect(answer.kind).toBe('notNow');
    },
  );

  it('gate and coalescer work over two replicas', async () => {
    const [one, two] = [await replicas.start(), await replicas.start()];
    used.push(one.redis, two.redis);
    const policy = { capacity: 1, perAddress: 1, idleMs: 60_000, graceMs: 30_000 };
    const [gate, other] = [one.gate(policy), two.gate(policy)];
    expect(await gate.admit('pool', 'ann', { address: 'a' })).toEqual({ kind: 'admitted' });
    expect(await other.admit('pool', 'bob', { address: 'b' })).toMatchObject({ kind: 'busy' });
    expect(await other.places('pool', 10)).toMatchObject({ used: 1 });
    expect(await gate.sessions()).toBe(1);
    await gate.giveBack('pool', 'ann');
    expect(await other.admit('pool', 'bob', { address: 'b' })).toEqual({ kind: 'admitted' });

    const log = new DecisionLog(one.redis, logger);
    log.note('admitted');
    expect((await log.lastHour()).at(-1)?.causes).toEqual({ admitted: 1 });
    await log.close();

    const request = { scope: 'test', client: 'ann', intent: 'read', deadlineMs: 10_000 };
    let runs = 0;
    let end: (outcome: string) => void = () => undefined;
    const outcome = new Promise<string>((resolve) => (end = resolve));
    const work = () => {
      runs += 1;
      return outcome;
    };
    const led = one.coalescer.share(request, work);
    await eventually('the run', () => runs === 1);
    const followed = two.coalescer.share(request, work);
    await eventually('a renewal of the lease', () => scriptsOf([one.redis]).includes('renew'));
    end('an outcome');
    expect(await Promise.all([led, followed])).toEqual(['an outcome', 'an outcome']);
    expect(runs).toBe(1);
  });

  it('throttle, leases, locks and limits of athletes work', async () => {
    const athleteId = randomUUID();
    const throttle = new Throttle(redis, logger);
    expect([await throttle.take('ann', 1), await throttle.take('ann', 1)]).toMatchObject([
      { allowed: true },
      { allowed: expect.any(Boolean) },
    ]);
    const lease = await ArchiveLease.take(athleteId, redis, logger);
    expect(await ArchiveLease.take(athleteId, redis, logger)).toBeUndefined();
    lease?.end();
    const lock = (await new BatchLocks(redis, scale, logger).take({
      athleteId,
      provider: 'strava',
    })) as BatchLock;
    expect(await lock.renew()).toBe(true);
    await lock.release();
    const prompts = new PromptLimiter(redis, scale, logger);
    const kinds = await Promise.all([1, 2, 3].map(async () => (await prompts.take(athleteId, 1_000)).kind));
    expect(kinds.sort()).toEqual(['busy', 'taken', 'taken']);
    const pace = new Pace(redis, new Budgets([budgetOf('oura')]), scale);
    await pace.waitForTurn('oura', AbortSignal.timeout(30_000));
  });

  it('a wake-up reaches a subscriber', async () => {
    let woken = 0;
    const subscription = subscribeToWakeUps(config, logger, ['news'], () => (woken += 1));
    const publish = wakeUpPublisher(config, redis, logger);
    await eventually('the wake-up', () => {
      publish('news');
      return woken > 0;
    });
    subscription.close();
  });

  it('Bull gives ticks to a worker, also delayed and repeated ticks, and counts them', async () => {
    @Module({
      imports: [
        SurroundingsModule.with({ timeScale: 1, redis: config } as Config, logger),
        QueueModule,
        BullModule.registerQueue({ name: 'ticks' }, { name: 'others' }),
      ],
    })
    class TestModule {}
    const app: INestApplicationContext = await NestFactory.createApplicationContext(TestModule, {
      logger: false,
    });
    const [queue, others] = ['ticks', 'others'].map((name) =>
      app.get<Queue<{ n: number }>>(getQueueToken(name)),
    );
    const worked: number[] = [];
    const work = ({ data }: Job<{ n: number }>) => Promise.resolve(void worked.push(data.n));
    void queue!.process(work);
    void others!.process(work);
    const options = { removeOnComplete: true, removeOnFail: true };
    await queue!.add({ n: 1 }, { ...options, jobId: 'one' });
    await queue!.add({ n: 2 }, { ...options, delay: 50 });
    await others!.add({ n: 3 }, options);
    const later = await queue!.add({ n: 4 }, { ...options, delay: 3_600_000, jobId: 'later' });
    await eventually('three ticks', () => worked.length === 3);
    expect(worked.sort()).toEqual([1, 2, 3]);
    expect(await queue!.getJobCounts()).toMatchObject({ delayed: 1, failed: 0 });
    expect((await queue!.getJobs(['delayed'], 0, 9, true)).map(({ id }) => id)).toEqual(['later']);
    await later.promote();
    await eventually('the promoted tick', () => worked.length === 4);
    await queue!.add({ n: 1 }, { ...options, jobId: 'one' });
    await eventually('the repeated tick', () => worked.length === 5);
    await app.close();
    // Bull leaves clients that it has not made itself.
    for (const one of [queue, others])
      for (const name of ['client', 'eclient', 'bclient'] as const)
        (one as unknown as Record<typeof name, RedisClient>)[name].disconnect();
  });

  it('the check at the start and the readiness probe accept it', async () => {
    await checkRedis(config.url, 5_000, logger);
    await probeRedis(redis);
  });

  // The last test of the file, because it looks back at the others.
  it('every Lua script has run on the Cluster', () => {
    const files = readdirSync('libs', { recursive: true }).map(String);
    const scripts = files.filter((file) => file.endsWith('.lua')).map((file) => basename(file, '.lua'));
    expect(scripts.length).toBeGreaterThan(15);
    const ran = new Set(scriptsOf(used));
    expect(scripts.filter((name) => !ran.has(name))).toEqual([]);
  });
});

/** The names of the scripts that these clients have sent: LuaScript defines a command on the client for each. */
function scriptsOf(clients: readonly RedisClient[]): string[] {
  const names = clients.flatMap((client) => Object.keys(client));
  return names.filter((name) => name.startsWith('lua:')).map((name) => name.split(':')[1] ?? '');
}
