import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { createLogger, type RedisClient, timeScale } from '#platform';
import { budgetConnection, Ledger, VendorBudget } from '#rate-limit';
import { OutboundCaller } from '#reliability';
import { eventually } from '../../../../test/harness/eventually.js';
import { required } from '../../../../test/harness/servers.js';
import { CLIENT, SimulatorProcess } from '../../../../test/harness/simulator.js';
import { openTestDatabase, type OpenDatabase } from '../../../../test/harness/test-database.js';
import { type TokenSource } from '../call/token-source.js';
import { VendorCalls } from '../call/vendor-calls.js';
import { OuraSleeps } from './sleep.js';
import { oura } from './vendor.js';

const logger = createLogger({ level: 'silent', process: 'test' });
const CONTEXT = { athleteId: randomUUID(), class: 'backfill' } as const;

interface Tokens {
  readonly access_token: string;
  readonly refresh_token: string;
}

let open: OpenDatabase;
let simulator: SimulatorProcess;
let redis: RedisClient;
let caller: OutboundCaller;
beforeAll(async () => {
  [open, simulator] = await Promise.all([openTestDatabase(), SimulatorProcess.start()]);
  await open.database.query("insert into athlete (id, issuer, subject) values ($1, 'test', 'ann')", [
    CONTEXT.athleteId,
  ]);
  redis = budgetConnection({ url: required('REDIS_URL'), keyPrefix: `t:${randomUUID()}:` }, logger, {
    commandTimeout: 30_000,
  });
  await eventually('the connection', () => redis.status === 'ready');
  caller = new OutboundCaller(
    { attemptMs: 30_000, totalMs: 60_000 },
    { name: 'oura', hosts: [simulator.url], logger },
  );
});
afterAll(async () => {
  redis.disconnect();
  await caller.close();
  await simulator.stop();
  await open.close();
});

/** Oura rotates the refresh token, so each refresh spends one. */
async function tokens(fields: Record<string, string>): Promise<Tokens> {
  const body = new URLSearchParams({ client_id: CLIENT.id, client_secret: CLIENT.secret, ...fields });
  const answer = await fetch(`${simulator.url}/oura/oauth/token`, { method: 'POST', body });
  if (!answer.ok) throw new Error(`token: ${answer.status}`);
  return (await answer.json()) as Tokens;
}

/** Calls with the tokens of a person who granted these scopes. */
async function sleepsWith(...scopes: string[]) {
  const { code } = await simulator.control<{ code: string }>('POST', '/athletes', {
    provider: 'oura',
    nights: 3,
    scopes,
  });
  let current = await tokens({ grant_type: 'authorization_code', code });
  const access = () => ({ kind: 'token', token: current.access_token, connection: 'one' }) as const;
  const source: TokenSource = {
    access: () => Promise.resolve(access()),
    rejected: async () => {
      current = await tokens({ grant_type: 'refresh_token', refresh_token: current.refresh_token });
      return access();
    },
    isConnected: () => Promise.resolve(true),
  };
  const scale = timeScale(1);
  const budget = new VendorBudget(oura.limits, redis, new Ledger(open.database, 'oura'), scale, logger);
  const apiUrl = `${simulator.url}/oura`;
  return new OuraSleeps(new VendorCalls(oura, { apiUrl, caller, budget, tokens: source, scale }));
}

it('a read of Oura by a token without the scope daily is refused, and spends no refresh token', async () => {
  const [from, to] = [-2, 0].map((days) =>
    new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10),
  );
  const may = await sleepsWith('personal', 'daily');
  expect(await may.list(CONTEXT, from ?? '', to ?? '')).toMatchObject({ kind: 'ok' });
  const mayNot = await sleepsWith('personal');
  const [issued, reads] = [await simulator.calls('oura', 'token'), await simulator.calls('oura', 'sleep')];
  expect(await mayNot.list(CONTEXT, from ?? '', to ?? '')).toMatchObject({ kind: 'refused', status: 401 });
  expect(await simulator.calls('oura', 'sleep')).toBe(reads + 1);
  expect(await simulator.calls('oura', 'token')).toBe(issued);
});
