import { createServer, type Server } from 'node:http';
import { type AddressInfo } from 'node:net';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Clock, type Config, createLogger, timeScale } from '#platform';
import { OutboundCaller, type OutboundRequest } from '#reliability';
import { CLIENT, SimulatorProcess } from '../../../test/harness/simulator.js';
import { openTestDatabase, type OpenDatabase } from '../../../test/harness/test-database.js';
import { OuraSubscriptions } from './oura-subscriptions.js';
import { verificationTokenOf } from './verification-token.js';

const DAY_MS = 86_400_000;
const PAIRS = 6;
const APP = { 'x-client-id': CLIENT.id, 'x-client-secret': CLIENT.secret };
const logger = createLogger({ level: 'silent', process: 'test' });

interface Subscription {
  readonly id: string;
  readonly callback_url: string;
  readonly event_type: string;
  readonly data_type: string;
  readonly expiration_time: string;
}

describe('the subscriptions at Oura', () => {
  let open: OpenDatabase;
  let simulator: SimulatorProcess;
  let receiver: Server;
  let url: string;
  let token: string;
  let caller: OutboundCaller;

  beforeAll(async () => (open = await openTestDatabase()));
  afterAll(() => open.close());
  beforeEach(async () => {
    token = verificationTokenOf(CLIENT.secret);
    receiver = createServer((request, response) => {
      const { searchParams } = new URL(request.url ?? '', 'http://here');
      response.statusCode = searchParams.get('verification_token') === token ? 200 : 401;
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify({ challenge: searchParams.get('challenge') }));
    });
    await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
    url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}`;
    simulator = await SimulatorProcess.start();
    const bounds = { attemptMs: 5_000, totalMs: 8_000 };
    caller = new OutboundCaller(bounds, { name: 'oura', hosts: [simulator.url], logger });
    await open.database.query('truncate oura_subscription_lease');
  });
  afterEach(async () => {
    await caller.close();
    await simulator.stop();
    receiver.closeAllConnections();
    receiver.close();
  });

  interface Setting {
    readonly daysLater?: number;
    readonly publicUrl?: string;
    readonly by?: Pick<OutboundCaller, 'call'>;
  }
  function subscriptions({ daysLater = 0, publicUrl = url, by = caller }: Setting = {}) {
    class LaterClock extends Clock {
      override nowMs = () => Date.now() + daysLater * DAY_MS;
    }
    const config = {
      oura: { apiUrl: `${simulator.url}/oura`, oauthUrl: '', client: CLIENT },
      http: { publicUrl, isPublic: true },
    } as unknown as Config;
    const clock = new LaterClock();
    return new OuraSubscriptions(config, by as OutboundCaller, open.database, clock, timeScale(1), logger);
  }

  const base = () => `${simulator.url}/oura/v2/webhook/subscription`;
  const there = async () => (await (await fetch(base(), { headers: APP })).json()) as Subscription[];
  const byPair = (all: readonly Subscription[]) =>
    new Map(all.map((one) => [`${one.event_type} ${one.data_type}`, one]));
  /** Real ones, with something that happens before each of a kind. */
  const callsWith = (method: string, before: (request: OutboundRequest) => Promise<unknown>) => {
    const call = async (request: OutboundRequest) => {
      if (request.method === method) await before(request);
      return caller.call(request);
    };
    return { call } as Pick<OutboundCaller, 'call'>;
  };

  it('are made for each kind of event and data, and kept where they are ours', async () => {
    await subscriptions().runOnce();
    const made = await there();
    expect([...byPair(made).keys()].sort()).toEqual([
      'create daily_sleep',
      'create sleep',
      'delete daily_sleep',
      'delete sleep',
      'update daily_sleep',
      'update sleep',
    ]);
    expect(made.every(({ callback_url }) => callback_url === `${url}/webhooks/oura`)).toBe(true);
    await subscriptions().runOnce();
    expect(await there()).toEqual(made);
  });

  it('are not made where whoever is asked does not know the token', async () => {
    token = 'another';
    await subscriptions().runOnce();
    expect(await there()).toEqual([]);
    token = verificationTokenOf(CLIENT.secret);
    await subscriptions().runOnce();
    expect(await there()).toHaveLength(PAIRS);
  });

  it('are renewed in the last month of their ninety days, and not before', async () => {
    await subscriptions().runOnce();
    const made = byPair(await there());
    await subscriptions({ daysLater: 59 }).runOnce();
    expect(byPair(await there())).toEqual(made);
    await subscriptions({ daysLater: 61 }).runOnce();
    const renewed = byPair(await there());
    for (const [pair, before] of made) {
      const after = renewed.get(pair);
      expect(after?.id).toBe(before.id);
      expect(Date.parse(after?.expiration_time ?? '')).toBeGreaterThan(Date.parse(before.expiration_time));
    }
  });

  it('are made again where they end between the list and the renewal', async () => {
    await subscriptions().runOnce();
    const made = await there();
    const by = callsWith('PUT', ({ url: renewal }) =>
      fetch(`${base()}/${renewal.split('/').at(-1)}`, { method: 'DELETE', headers: APP }),
    );
    await subscriptions({ daysLater: 61, by }).runOnce();
    const now = await there();
    expect(byPair(now).size).toBe(PAIRS);
    expect(now.some(({ id }) => made.some((before) => before.id === id))).toBe(false);
  });

  it('are made again where Oura has none any more', async () => {
    await subscriptions().runOnce();
    const [lost] = await there();
    await fetch(`${base()}/${lost?.id}`, { method: 'DELETE', headers: APP });
    await subscriptions().runOnce();
    expect(byPair(await there()).size).toBe(PAIRS);
  });

  it('are led here where they lead elsewhere', async () => {
    await subscriptions({ publicUrl: `${url}/old` }).runOnce();
    const old = await there();
    await subscriptions().runOnce();
    const now = await there();
    expect(now.map(({ id }) => id).sort()).toEqual(old.map(({ id }) => id).sort());
    expect(now.every(({ callback_url }) => callback_url === `${url}/webhooks/oura`)).toBe(true);
  });

  it('are seen to by one of two workers', async () => {
    await Promise.all([subscriptions().runOnce(), subscriptions().runOnce()]);
    const calls = await simulator.calls('oura', 'subscriptions');
    expect(await there()).toHaveLength(PAIRS);
    // A list and six, and a list of the second's where it began when the first was done.
    expect(calls).toBeLessThanOrEqual(1 + PAIRS + 1);
  });

  it('are left to the other worker only while it is at it', async () => {
    await subscriptions({
      by: callsWith('GET', async () => {
        await subscriptions().runOnce();
        expect(await there()).toEqual([]);
      }),
    }).runOnce();
    expect(await there()).toHaveLength(PAIRS);
    const { rows } = await open.database.query('select 1 from oura_subscription_lease');
    expect(rows).toEqual([]);
  });

  it('are seen to by another where a worker died over them', async () => {
    await open.database.query(
      `insert into oura_subscription_lease (only_one, holder, leased_until)
       values (true, gen_random_uuid(), clock_timestamp() - interval '1 second')`,
    );
    await subscriptions().runOnce();
    expect(await there()).toHaveLength(PAIRS);
  });

  it.each(['http_500', 'reset', 'malformed', 'html', 'http_429', 'empty'])(
    'are tried again later after %s',
    async (kind) => {
      await simulator.fault('oura', 'subscriptions', kind);
      await expect(subscriptions().runOnce()).rejects.toThrow();
      await simulator.clearFaults();
      await subscriptions().runOnce();
      expect(await there()).toHaveLength(PAIRS);
    },
    20_000,
  );

  it('do not fail together: what goes wrong with one is made good at the next run', async () => {
    let posts = 0;
    const by = callsWith('POST', () => {
      posts += 1;
      return posts === 2 ? Promise.reject(new Error('cut')) : Promise.resolve();
    });
    await subscriptions({ by }).runOnce();
    expect(await there()).toHaveLength(PAIRS - 1);
    await subscriptions().runOnce();
    expect(await there()).toHaveLength(PAIRS);
  });

  it('cost nothing of the limits', async () => {
    await subscriptions().runOnce();
    const { oura } = await simulator.control<{ oura: { windows: unknown[] } }>('GET', '/stats');
    expect(oura.windows).toEqual([]);
  });
});
