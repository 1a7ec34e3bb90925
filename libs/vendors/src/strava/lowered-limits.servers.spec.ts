import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { createLogger, type RedisClient, timeScale } from '#platform';
import { budgetConnection, Ledger, VendorBudget } from '#rate-limit';
import { OutboundCaller } from '#reliability';
import { eventually } from '../../../../test/harness/eventually.js';
import { newAthlete } from '../../../../test/harness/athletes.js';
import { Proxy } from '../../../../test/harness/proxy.js';
import { required } from '../../../../test/harness/servers.js';
import { openTestDatabase, type OpenDatabase } from '../../../../test/harness/test-database.js';
import { limits } from './limits.js';
import { StravaApi } from './api.js';
import { SimulatedStrava, stravaCalls } from './simulated-strava.harness.js';

const LIMIT = 12;
const logger = createLogger({ level: 'silent', process: 'test' });
const keyPrefix = `t:${randomUUID()}:`;
// Strava's window lasts 15 minutes. The windows of this policy never end, so that no boundary refuses a call that the test counts.
const policy = {
  ...limits,
  counters: limits.counters.map((counter) => ({ ...counter, seconds: 40_000_000_000 })),
};

let open: OpenDatabase;
let strava: SimulatedStrava;
let call: (client: StravaApi) => Promise<'made' | 'refused'>;
const closers: Array<() => unknown> = [];

beforeAll(async () => {
  open = await openTestDatabase();
  strava = await SimulatedStrava.start();
  const athleteId = await newAthlete(open.database);
  await strava.control('POST', '/limits', {
    vendor: 'strava',
    read_15min: LIMIT,
    read_day: 1_000,
    overall_15min: 200,
    overall_day: 2_000,
  });
  call = async (client) => {
    const { kind } = await client.athlete({ athleteId, class: 'live', waitMs: 0 });
    return kind === 'ok' ? 'made' : 'refused';
  };
});
afterAll(async () => {
  await Promise.all(closers.map((close) => close()));
  await strava.stop();
  await open.close();
});

let person: Awaited<ReturnType<SimulatedStrava['connect']>>;

/** A client with its own Redis connection, budget and HTTP caller, as in another process. */
async function newProcess(url = required('REDIS_URL')): Promise<{ client: StravaApi; redis: RedisClient }> {
  const redis = budgetConnection({ url, keyPrefix }, logger, { commandTimeout: 30_000 });
  await eventually('the connection', () => redis.status === 'ready');
  const budget = new VendorBudget(policy, redis, new Ledger(open.database, 'strava'), timeScale(1), logger);
  const caller = new OutboundCaller(
    { attemptMs: 10_000, totalMs: 30_000 },
    { name: 'strava', hosts: [strava.apiUrl], logger, random: () => 0 },
  );
  closers.push(
    () => redis.disconnect(),
    () => caller.close(),
  );
  person ??= await strava.connect();
  const calls = stravaCalls(strava.apiUrl, caller, budget, strava.tokensOf(person));
  return { client: new StravaApi(calls), redis };
}

const together = (clients: readonly StravaApi[]) =>
  Promise.all(Array.from({ length: 30 }, (_, n) => call(clients[n % clients.length]!)));

async function flush(redis: RedisClient): Promise<void> {
  const keys = await redis.keys(`${keyPrefix}*`);
  await redis.del(keys.map((key) => key.slice(keyPrefix.length)));
}

it('keeps a lowered limit of Strava after a Redis flush, in a new process and while Redis is away', async () => {
  const three = [await newProcess(), await newProcess(), await newProcess()];
  const clients = three.map(({ client }) => client);
  for (const client of clients) expect(await call(client)).toBe('made');
  await flush(three[0]!.redis);
  // A fourth process starts and loses Redis before its first call; a fifth process starts after that call.
  const proxy = await Proxy.before(required('REDIS_URL'));
  const cutOff = await newProcess(proxy.url);
  proxy.cut();
  await eventually('the cut', () => cutOff.redis.status !== 'ready');
  expect(await call(cutOff.client)).toBe('made');
  const newcomer = await newProcess();
  const answers = await together([...clients, newcomer.client, cutOff.client]);
  await flush(three[0]!.redis);
  answers.push(...(await together([...clients, newcomer.client])));
  expect(answers).toContain('made');
  expect(answers).toContain('refused');
  const { over_limit, by_endpoint } = await strava.stats();
  expect(over_limit).toBe(0);
  expect(by_endpoint.athlete).toBe(LIMIT);
  await proxy.close();
});
