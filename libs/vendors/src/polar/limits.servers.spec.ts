import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { createLogger, type RedisClient, timeScale } from '#platform';
import { budgetConnection, Ledger, readRates, VendorBudget } from '#rate-limit';
import { eventually } from '../../../../test/harness/eventually.js';
import { required } from '../../../../test/harness/servers.js';
import { CLIENT, SimulatorProcess } from '../../../../test/harness/simulator.js';
import { openTestDatabase, type OpenDatabase } from '../../../../test/harness/test-database.js';
import { basicAuth } from '../oauth.js';
import { limits } from './limits.js';

// A window of 15 minutes lasts a second.
const SCALE = 900;
const LIMIT = 40;
const logger = createLogger({ level: 'silent', process: 'test' });
const keyPrefix = `t:${randomUUID()}:`;

interface Stats {
  readonly polar: {
    readonly over_limit: number;
    readonly by_status: Readonly<Record<string, number>>;
    readonly windows: readonly unknown[];
  };
}

let open: OpenDatabase;
let simulator: SimulatorProcess;
const connections: RedisClient[] = [];
beforeAll(async () => {
  [open, simulator] = await Promise.all([
    openTestDatabase(),
    SimulatorProcess.start({ TIME_SCALE: String(SCALE) }),
  ]);
});
afterAll(async () => {
  for (const redis of connections) redis.disconnect();
  await simulator.stop();
  await open.close();
});

async function newBudget(): Promise<VendorBudget> {
  const redis = budgetConnection({ url: required('REDIS_URL'), keyPrefix }, logger, {
    commandTimeout: 30_000,
  });
  connections.push(redis);
  await eventually('the connection', () => redis.status === 'ready');
  return new VendorBudget(limits, redis, new Ledger(open.database, 'polar'), timeScale(SCALE), logger);
}

/** Connects an athlete of the simulated Polar and returns the access token. */
async function connect(): Promise<string> {
  const { code } = await simulator.control<{ code: string }>('POST', '/athletes', {
    provider: 'polar',
    activities: 0,
  });
  const token = await fetch(`${simulator.url}/polar/v2/oauth2/token`, {
    method: 'POST',
    headers: {
      authorization: basicAuth(CLIENT),
      'content-type': 'application/x-www-form-urlencoded',
    },
    body: new URLSearchParams({ grant_type: 'authorization_code', code }).toString(),
  });
  const { access_token } = (await token.json()) as { access_token: string };
  await fetch(`${simulator.url}/polar/v3/users`, {
    method: 'POST',
    headers: { authorization: `Bearer ${access_token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ 'member-id': randomUUID() }),
  });
  return access_token;
}

it('two workers that call the simulated Polar as fast as they may never exceed its limit, over several windows', async () => {
  const authorization = `Bearer ${await connect()}`;
  await simulator.control('POST', '/limits', { vendor: 'polar', quarter_hour: LIMIT });
  const list = async (budget: VendorBudget) => {
    const outcome = await budget.requestPermit({ class: 'live', endpoint: 'exercises', userId: null });
    if (outcome.kind !== 'granted') return false;
    if (!budget.isFresh(outcome.permit)) return void (await budget.giveBack(outcome.permit));
    const answer = await fetch(`${simulator.url}/polar/v3/exercises`, { headers: { authorization } });
    const { usage } = readRates(limits, Object.fromEntries(answer.headers));
    await budget.settle(outcome.permit, answer.status, usage);
    return true;
  };
  const [one, two] = [await newBudget(), await newBudget()];
  // The first answer reports the lowered limit.
  await eventually('the first call', () => list(one));
  const { windows: before } = (await simulator.control<Stats>('GET', '/stats')).polar;
  const count = async () => (await simulator.control<Stats>('GET', '/stats')).polar.windows.length;
  let isOver = false;
  const hammer = async (budget: VendorBudget) => {
    while (!isOver) await list(budget);
  };
  const hammers = [hammer(one), hammer(two), hammer(one), hammer(two)];
  await eventually('three more windows', async () => (await count()) >= before.length + 3);
  isOver = true;
  await Promise.all(hammers);
  const { over_limit, by_status } = (await simulator.control<Stats>('GET', '/stats')).polar;
  expect([over_limit, by_status['429'] ?? 0]).toEqual([0, 0]);
  const [quarter] = await one.gauges();
  expect(quarter).toMatchObject({ limit: LIMIT });
});
