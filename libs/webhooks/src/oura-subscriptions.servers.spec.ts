import { createServer, type Server } from 'node:http';
import { type AddressInfo } from 'node:net';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Vault } from '#connections';
import { createLogger, timeScale } from '#platform';
import { ConnectionFailed, OutboundCaller, type OutboundRequest } from '#reliability';
import { VENDORS, verificationTokenOf, type Webhook, type WebhookSubscriptions } from '#vendors';
import { CLIENT, SimulatorProcess } from '../../../test/harness/simulator.js';
import { openTestDatabase, type OpenDatabase } from '../../../test/harness/test-database.js';
import { uncharged, workerOf } from './subscription-keeper.harness.js';
import { SubscriptionKeeper } from './subscription-keeper.js';
import { SubscriptionStore } from './subscription-store.js';

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

describe('SubscriptionKeeper of Oura', () => {
  let open: OpenDatabase;
  let simulator: SimulatorProcess;
  let receiver: Server;
  let url: string;
  let token: string;
  let caller: OutboundCaller;

  beforeAll(async () => {
    open = await openTestDatabase();
    simulator = await SimulatorProcess.start();
  });
  afterAll(async () => {
    await simulator.stop();
    await open.close();
  });
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
    const bounds = { attemptMs: 5_000, totalMs: 8_000 };
    caller = new OutboundCaller(bounds, { name: 'oura', hosts: [simulator.url], logger });
    await open.database.query('truncate webhook_subscription, webhook_subscription_keeper');
  });
  afterEach(async () => {
    await simulator.clearFaults();
    for (const { id } of await subscribed()) await deletedAtOura(id);
    await caller.close();
    receiver.closeAllConnections();
    receiver.close();
  });

  const store = (Store = SubscriptionStore) =>
    new Store(open.database, new Vault([{ version: 1, key: Buffer.alloc(32, 1) }]), logger);

  interface Setting {
    readonly daysLater?: number;
    readonly publicUrl?: string;
    readonly by?: Pick<OutboundCaller, 'call'>;
  }
  function subscriptions({ daysLater = 0, publicUrl = url, by = caller }: Setting = {}) {
    class LaterStore extends SubscriptionStore {
      override async claim(...args: Parameters<SubscriptionStore['claim']>) {
        const claim = await super.claim(...args);
        return claim && { ...claim, claimed_at: new Date(claim.claimed_at.getTime() + daysLater * DAY_MS) };
      }
    }
    const part = (VENDORS.oura.webhook as Webhook).subscriptions as WebhookSubscriptions;
    const config = { apiUrl: `${simulator.url}/oura`, oauthUrl: '', client: CLIENT };
    const api = part.at(config, uncharged('oura', by));
    const plan = { vendor: 'oura', callbackUrl: `${publicUrl}/webhooks/oura`, part, api } as const;
    return workerOf(new SubscriptionKeeper(plan, store(LaterStore), timeScale(1), logger));
  }

  const base = () => `${simulator.url}/oura/v2/webhook/subscription`;
  const subscribed = async () => (await (await fetch(base(), { headers: APP })).json()) as Subscription[];
  const deletedAtOura = (id = '') => fetch(`${base()}/${id}`, { method: 'DELETE', headers: APP });
  const byPair = (all: readonly Subscription[]) =>
    new Map(all.map((one) => [`${one.event_type} ${one.data_type}`, one]));
  /** The real HTTP caller. Runs `before` ahead of each request with this HTTP method. */
  const callsWith = (method: string, before: (request: OutboundRequest) => Promise<unknown>) => {
    const call = async (request: OutboundRequest) => {
      if (request.method === method) await before(request);
      return caller.call(request);
    };
    return { call } as Pick<OutboundCaller, 'call'>;
  };

  it('creates six Oura subscriptions, one per event and data type, and keeps them at the next run', async () => {
    await subscriptions().runOnce();
    const made = await subscribed();
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
    expect(await subscribed()).toEqual(made);
  });

  it('creates no Oura subscription if the callback does not know the verification token', async () => {
    token = 'another';
    await subscriptions().runOnce();
    expect(await subscribed()).toEqual([]);
    token = verificationTokenOf(CLIENT.secret);
    await subscriptions().runOnce();
    expect(await subscribed()).toHaveLength(PAIRS);
  });

  it('renews Oura subscriptions in the last month of their ninety days, and not before', async () => {
    await subscriptions().runOnce();
    const made = byPair(await subscribed());
    await subscriptions({ daysLater: 59 }).runOnce();
    expect(byPair(await subscribed())).toEqual(made);
    await subscriptions({ daysLater: 61 }).runOnce();
    const renewed = byPair(await subscribed());
    for (const [pair, before] of made) {
      const after = renewed.get(pair);
      expect(after?.id).toBe(before.id);
      expect(Date.parse(after?.expiration_time ?? '')).toBeGreaterThan(Date.parse(before.expiration_time));
    }
  });

  it.each([403, 404])(
    'creates an Oura subscription again if it ends between the list and the renewal (%i)',
    async (status) => {
      await simulator.habit('oura', { unknown_subscription_status: status });
      await subscriptions().runOnce();
      const made = await subscribed();
      const by = callsWith('PUT', ({ url: renewal }) => deletedAtOura(renewal.split('/').at(-1)));
      await subscriptions({ daysLater: 61, by }).runOnce();
      const now = await subscribed();
      expect(byPair(now).size).toBe(PAIRS);
      expect(now.some(({ id }) => made.some((before) => before.id === id))).toBe(false);
    },
  );

  it('creates an Oura subscription again after Oura has lost it', async () => {
    await subscriptions().runOnce();
    const [lost] = await subscribed();
    await deletedAtOura(lost?.id);
    await subscriptions().runOnce();
    expect(byPair(await subscribed()).size).toBe(PAIRS);
  });

  it('changes the callback URL of Oura subscriptions that point elsewhere', async () => {
    await subscriptions({ publicUrl: `${url}/old` }).runOnce();
    const old = await subscribed();
    await subscriptions().runOnce();
    const now = await subscribed();
    expect(now.map(({ id }) => id).sort()).toEqual(old.map(({ id }) => id).sort());
    expect(now.every(({ callback_url }) => callback_url === `${url}/webhooks/oura`)).toBe(true);
  });

  it('two workers at the same time create each of the six Oura subscriptions once', async () => {
    const before = await simulator.calls('oura', 'subscriptions');
    await Promise.all([subscriptions().runOnce(), subscriptions().runOnce()]);
    const calls = (await simulator.calls('oura', 'subscriptions')) - before;
    expect(await subscribed()).toHaveLength(PAIRS);
    // A list and six creations, and another list if the second worker began after the first had ended.
    expect(calls).toBeLessThanOrEqual(1 + PAIRS + 1);
  });

  it('leaves Oura subscriptions to the worker that holds the lease, and releases the lease at the end', async () => {
    await subscriptions({
      by: callsWith('GET', async () => {
        await subscriptions().runOnce();
        expect(await subscribed()).toEqual([]);
      }),
    }).runOnce();
    expect(await subscribed()).toHaveLength(PAIRS);
    const { rows } = await open.database.query('select leased_until from webhook_subscription_keeper');
    expect(rows).toEqual([{ leased_until: null }]);
  });

  it('a worker that loses its lease while it creates an Oura subscription stores nothing and creates no other one', async () => {
    let posts = 0;
    const by = callsWith('POST', async () => {
      posts += 1;
      await open.database.query(
        "update webhook_subscription_keeper set leased_until = clock_timestamp() - interval '1 second'",
      );
      expect(await store().claim('oura', 60_000, true)).toBeDefined();
    });
    expect(await subscriptions({ by }).runOnce()).toBeUndefined();
    expect(posts).toBe(1);
    expect((await open.database.query('select from webhook_subscription')).count).toBe(0);
  });

  it('creates Oura subscriptions after the lease of a dead worker has ended', async () => {
    await open.database.query(
      `insert into webhook_subscription_keeper (vendor, fence, leased_until)
       values ('oura', 7, clock_timestamp() - interval '1 second')`,
    );
    await subscriptions().runOnce();
    expect(await subscribed()).toHaveLength(PAIRS);
  });

  it.each(['http_500', 'reset', 'malformed', 'html', 'http_429', 'empty'])(
    'creates Oura subscriptions at the next run after %s',
    async (kind) => {
      await simulator.fault('oura', 'subscriptions', kind);
      expect(await subscriptions().runOnce()).toBe(5_000);
      await simulator.clearFaults();
      await subscriptions().runOnce();
      expect(await subscribed()).toHaveLength(PAIRS);
    },
  );

  it('creates five Oura subscriptions if one fails, and the sixth at the next run', async () => {
    let posts = 0;
    const by = callsWith('POST', () => {
      posts += 1;
      return posts === 2 ? Promise.reject(new ConnectionFailed('oura')) : Promise.resolve();
    });
    await subscriptions({ by }).runOnce();
    expect(await subscribed()).toHaveLength(PAIRS - 1);
    await subscriptions().runOnce();
    expect(await subscribed()).toHaveLength(PAIRS);
  });

  it('creates Oura subscriptions at the next run if Oura could not verify the certificate of the callback', async () => {
    await simulator.fault('oura', 'subscriptions', 'ssl_error', { count: 2 });
    await subscriptions().runOnce();
    expect(await subscribed()).toHaveLength(PAIRS - 2);
    await subscriptions().runOnce();
    expect(await subscribed()).toHaveLength(PAIRS);
  });

  it('charges no call for Oura subscriptions to the rate limit', async () => {
    await subscriptions().runOnce();
    const { oura } = await simulator.control<{ oura: { windows: unknown[] } }>('GET', '/stats');
    expect(oura.windows).toEqual([]);
  });
});
