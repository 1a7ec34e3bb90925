import { createHmac } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import { type AddressInfo } from 'node:net';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Vault } from '#connections';
import { createLogger, timeScale } from '#platform';
import { OutboundCaller, type OutboundRequest } from '#reliability';
import { VENDORS, type Webhook, type WebhookSubscriptions } from '#vendors';
import { CLIENT, SimulatorProcess } from '../../../test/harness/simulator.js';
import { openTestDatabase, type OpenDatabase } from '../../../test/harness/test-database.js';
import { uncharged, workerOf } from './subscription-keeper.harness.js';
import { SubscriptionKeeper } from './subscription-keeper.js';
import { SubscriptionStore } from './subscription-store.js';

const HOUR_MS = 3_600_000;
const RETRY_MS = 5_000;
const AUTHORIZATION = `Basic ${Buffer.from(`${CLIENT.id}:${CLIENT.secret}`).toString('base64')}`;
const logger = createLogger({ level: 'silent', process: 'test' });

interface Listed {
  readonly id: string;
  readonly url: string;
  readonly events: readonly string[];
  readonly active: boolean;
}

describe('SubscriptionKeeper of Polar', () => {
  let open: OpenDatabase;
  let simulator: SimulatorProcess;
  let caller: OutboundCaller;
  let receiver: Server;
  let url: string;
  let pings: string[];
  let answers: number;
  let keys: Array<{ version: number; key: Buffer }>;

  beforeAll(async () => {
    open = await openTestDatabase();
    simulator = await SimulatorProcess.start();
  });
  afterAll(async () => {
    await simulator.stop();
    await open.close();
  });
  beforeEach(async () => {
    pings = [];
    answers = 200;
    keys = [{ version: 1, key: Buffer.alloc(32, 1) }];
    receiver = createServer((request, response) => {
      pings.push(String(request.headers['polar-webhook-event']));
      response.writeHead(answers).end();
    });
    await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
    url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}`;
    const bounds = { attemptMs: 5_000, totalMs: 8_000 };
    caller = new OutboundCaller(bounds, { name: 'polar', hosts: [simulator.url], logger });
    await open.database.query('truncate webhook_subscription, webhook_subscription_keeper');
  });
  afterEach(async () => {
    await simulator.clearFaults();
    for (const { id } of await webhooks()) await call('DELETE', `/${id}`);
    await caller.close();
    receiver.closeAllConnections();
    receiver.close();
  });

  const store = () => new SubscriptionStore(open.database, new Vault(keys), logger);

  function keeper(publicUrl = url, by: Pick<OutboundCaller, 'call'> = caller) {
    const { subscriptions, signsPerSubscription: signs } = VENDORS.polar.webhook as Webhook;
    const part = subscriptions as WebhookSubscriptions;
    const config = { apiUrl: `${simulator.url}/polar/v3`, oauthUrl: '', client: CLIENT };
    const api = part.at(config, uncharged('polar', by));
    const callbackUrl = `${publicUrl}${part.callbackPath(config)}`;
    const plan = { vendor: 'polar', part, api, signs, callbackUrl } as const;
    return workerOf(new SubscriptionKeeper(plan, store(), timeScale(1), logger));
  }

  const call = async (method: string, path = '', body?: object) => {
    const headers = { authorization: AUTHORIZATION, 'content-type': 'application/json' };
    return fetch(`${simulator.url}/polar/v3/webhooks${path}`, {
      method,
      headers,
      body: body && JSON.stringify(body),
    });
  };
  const webhooks = async () => ((await (await call('GET')).json()) as { data: Listed[] }).data;
  const webhook = async () => (await webhooks())[0];

  it('creates Polar’s webhook for exercises and nights after a PING, and keeps it and its key at the next check', async () => {
    expect(await keeper().runOnce()).toBe(HOUR_MS);
    const made = await webhook();
    expect(made).toMatchObject({ url: `${url}/webhooks/polar`, events: ['EXERCISE', 'SLEEP'], active: true });
    const secrets = await store().secretsOf('polar');
    expect(secrets).toHaveLength(1);
    expect(await keeper().runOnce()).toBe(HOUR_MS);
    expect([await webhook(), await store().secretsOf('polar'), pings]).toEqual([made, secrets, ['PING']]);
  });

  it('stores the key with which Polar signs its events', async () => {
    await keeper().runOnce();
    const delivered = new Promise<{ body: string; signature: string }>((resolve) => {
      receiver.removeAllListeners('request');
      receiver.on('request', (request, response) => {
        let body = '';
        request.on('data', (part: Buffer) => (body += part.toString()));
        request.on('end', () => {
          response.writeHead(200).end();
          resolve({ body, signature: String(request.headers['polar-webhook-signature']) });
        });
      });
    });
    const { code } = await simulator.control<{ code: string }>('POST', '/athletes', {
      provider: 'polar',
      activities: 0,
    });
    const token = await fetch(`${simulator.url}/polar/v2/oauth2/token`, {
      method: 'POST',
      headers: { authorization: AUTHORIZATION, 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams({ grant_type: 'authorization_code', code }).toString(),
    });
    const { access_token, x_user_id } = (await token.json()) as { access_token: string; x_user_id: number };
    await fetch(`${simulator.url}/polar/v3/users`, {
      method: 'POST',
      headers: { authorization: `Bearer ${access_token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ 'member-id': 'm-1' }),
    });
    await simulator.control('POST', '/activities', { athlete_id: String(x_user_id) });
    const { body, signature } = await delivered;
    const [key = ''] = await store().secretsOf('polar');
    expect(signature).toBe(createHmac('sha256', key).update(body).digest('hex'));
  });

  it('retries Polar’s webhook while the api does not answer the PING with 200', async () => {
    answers = 503;
    expect(await keeper().runOnce()).toBe(RETRY_MS);
    expect(await webhooks()).toEqual([]);
    answers = 200;
    expect(await keeper().runOnce()).toBe(HOUR_MS);
    expect(await webhooks()).toHaveLength(1);
  });

  it('deletes Polar’s webhook and creates another one if its key is lost', async () => {
    await keeper().runOnce();
    const lost = await webhook();
    await open.database.query('update webhook_subscription set secret = null, key_version = null');
    await keeper().runOnce();
    const made = await webhook();
    expect([made?.id === lost?.id, made?.active]).toEqual([false, true]);
    expect(await store().secretsOf('polar')).toHaveLength(1);
  });

  it('deletes Polar’s webhook and creates another one if its key was sealed with an encryption key that is no longer configured', async () => {
    await keeper().runOnce();
    const [sealed] = await store().secretsOf('polar');
    const lost = await webhook();
    keys = [{ version: 2, key: Buffer.alloc(32, 2) }];
    await expect(store().secretsOf('polar')).rejects.toThrow('ENCRYPTION_KEYS lacks version 1');
    expect(await keeper().runOnce()).toBe(HOUR_MS);
    const made = await webhook();
    expect([made?.id === lost?.id, made?.active]).toEqual([false, true]);
    const now = await store().secretsOf('polar');
    expect(now).toHaveLength(1);
    expect(now).not.toContain(sealed);
    await keeper().runOnce();
    expect(await webhook()).toEqual(made);
  });

  it('replaces a webhook that was created elsewhere, or whose creation was not answered', async () => {
    await call('POST', '', { events: ['SLEEP'], url: `${url}/elsewhere` });
    const other = await webhook();
    await keeper().runOnce();
    const made = await webhooks();
    expect(made).toMatchObject([{ url: `${url}/webhooks/polar`, events: ['EXERCISE', 'SLEEP'] }]);
    expect(made[0]?.id).not.toBe(other?.id);
    expect(await store().secretsOf('polar')).toHaveLength(1);
  });

  it('changes the address and the events of Polar’s webhook, and keeps its key', async () => {
    await keeper(`${url}/old`).runOnce();
    const [old, secrets] = [await webhook(), await store().secretsOf('polar')];
    await keeper().runOnce();
    expect(await webhook()).toEqual({ ...old, url: `${url}/webhooks/polar` });
    await call('PATCH', `/${old?.id}`, { events: ['SLEEP'] });
    await keeper().runOnce();
    expect(await webhook()).toEqual({ ...old, url: `${url}/webhooks/polar` });
    expect(await store().secretsOf('polar')).toEqual(secrets);
  });

  it.each(['same', 'another'])(
    'activates a deactivated webhook of Polar with the %s address',
    async (address) => {
      await keeper(address === 'same' ? url : `${url}/old`).runOnce();
      const before = await webhook();
      await call('POST', '/deactivate');
      await keeper().runOnce();
      expect(await webhook()).toEqual({ ...before, url: `${url}/webhooks/polar`, active: true });
    },
  );

  it('creates Polar’s webhook again if it ends between the list and its activation', async () => {
    await keeper().runOnce();
    const before = await webhook();
    await call('POST', '/deactivate');
    const by = {
      call: async (request: OutboundRequest) => {
        if (request.url.endsWith('/activate')) await call('DELETE', `/${before?.id}`);
        return caller.call(request);
      },
    } as Pick<OutboundCaller, 'call'>;
    await keeper(url, by).runOnce();
    const made = await webhook();
    expect([made?.active, made?.id === before?.id]).toEqual([true, false]);
    expect(await store().secretsOf('polar')).toHaveLength(1);
  });

  it.each(['http_500', 'reset', 'malformed', 'html', 'http_429', 'empty'])(
    'retries Polar’s webhook after %s, and has one webhook and its key in the end',
    async (kind) => {
      await simulator.fault('polar', 'subscriptions', kind);
      expect(await keeper().runOnce()).toBe(RETRY_MS);
      await simulator.clearFaults();
      expect(await keeper().runOnce()).toBe(HOUR_MS);
      expect(await webhooks()).toHaveLength(1);
      expect(await store().secretsOf('polar')).toHaveLength(1);
    },
  );

  it('two workers at the same time create Polar’s webhook once', async () => {
    await Promise.all([keeper().runOnce(), keeper().runOnce()]);
    expect([(await webhooks()).length, pings]).toEqual([1, ['PING']]);
  });
});
