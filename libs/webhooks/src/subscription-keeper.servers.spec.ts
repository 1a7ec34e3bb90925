import { createServer, type Server } from 'node:http';
import { type AddressInfo } from 'node:net';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Vault } from '#connections';
import { ClaimLost, createLogger, fenceRejected, timeScale } from '#platform';
import { OutboundCaller } from '#reliability';
import {
  type SubscriptionCall,
  type VendorId,
  VENDORS,
  vendorsWith,
  type Webhook,
  type WebhookSubscriptions,
} from '#vendors';
import { CLIENT } from '../../../test/harness/simulator.js';
import { openTestDatabase, type OpenDatabase } from '../../../test/harness/test-database.js';
import { SimulatedStrava } from '../../vendors/src/strava/simulated-strava.harness.js';
import { rotateKeys } from '../../connections/src/crypto/rotate-keys.js';
import { uncharged, workerOf } from './subscription-keeper.harness.js';
import { SubscriptionKeeper } from './subscription-keeper.js';
import { SubscriptionStore } from './subscription-store.js';

const HOUR_MS = 3_600_000;
const logger = createLogger({ level: 'silent', process: 'test' });

const KEYS = [{ version: 1, key: Buffer.alloc(32, 1) }];
const subscriptionsOf = (vendor: VendorId) =>
  (VENDORS[vendor].webhook as Webhook).subscriptions as WebhookSubscriptions;

describe('SubscriptionKeeper', () => {
  let open: OpenDatabase;
  let strava: SimulatedStrava;
  let caller: OutboundCaller;
  let receiver: Server;
  let url: string;
  let echo: boolean;

  beforeAll(async () => {
    open = await openTestDatabase();
    strava = await SimulatedStrava.start();
  });
  afterAll(async () => {
    await strava.stop();
    await open.close();
  });
  beforeEach(async () => {
    echo = true;
    receiver = createServer((request, response) => {
      const { searchParams } = new URL(request.url ?? '', 'http://here');
      response.statusCode = echo && searchParams.get('hub.verify_token') === 'verify' ? 200 : 403;
      response.end(JSON.stringify({ 'hub.challenge': searchParams.get('hub.challenge') }));
    });
    await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
    url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}`;
    caller = new OutboundCaller(
      { attemptMs: 3_000, totalMs: 4_000 },
      { name: 'strava', hosts: [strava.apiUrl], logger },
    );
  });
  afterEach(async () => {
    await caller.close();
    await strava.control('POST', '/reset');
    receiver.closeAllConnections();
    receiver.close();
    await open.database.query('truncate webhook_subscription, webhook_subscription_keeper');
  });

  const store = () => new SubscriptionStore(open.database, new Vault(KEYS), logger);

  function keeper(path = '/hook', call: SubscriptionCall = uncharged('strava', caller)) {
    const part = subscriptionsOf('strava');
    const config = { apiUrl: strava.apiUrl, oauthUrl: '', client: CLIENT, webhookVerifyToken: 'verify' };
    const api = part.at(config, call);
    const plan = { vendor: 'strava', callbackUrl: url + path, part, api } as const;
    return workerOf(new SubscriptionKeeper(plan, store(), timeScale(1), logger));
  }

  const known = async () => {
    const { rows } = await open.database.query<{ subscription_id: string }>(
      'select * from webhook_subscription',
    );
    return rows.map(({ subscription_id }) => subscription_id);
  };

  it('creates a subscription at Strava if there is none, and keeps it at the next check', async () => {
    expect(await keeper().runOnce()).toBe(HOUR_MS);
    const made = await strava.subscription();
    expect([made?.callback_url, await known()]).toEqual([`${url}/hook`, [String(made?.id)]]);
    await keeper().runOnce();
    expect((await strava.subscription())?.id).toBe(made?.id);
  });

  it('replaces a Strava subscription with another callback URL', async () => {
    await keeper('/old').runOnce();
    const old = await strava.subscription();
    await keeper('/new').runOnce();
    const made = await strava.subscription();
    expect([made?.callback_url, made?.id === old?.id]).toEqual([`${url}/new`, false]);
    expect(await known()).toEqual([String(made?.id)]);
  });

  it('retries a Strava subscription after 5, 10, 20 … 300 s until the callback is verified, also if workers restart', async () => {
    echo = false;
    const pauses = [];
    for (let n = 0; n < 8; n += 1) pauses.push(await keeper().runOnce());
    expect(pauses).toEqual([5_000, 10_000, 20_000, 40_000, 80_000, 160_000, 300_000, 300_000]);
    expect(await known()).toEqual([]);
    echo = true;
    expect(await keeper().runOnce()).toBe(HOUR_MS);
    expect(await known()).toHaveLength(1);
    await strava.fault('push_subscriptions', 'http_500');
    expect(await keeper().runOnce()).toBe(5_000);
    await strava.heal();
  });

  it('a worker checks a Strava subscription at its start, and then only when a check is due', async () => {
    const [one, other] = [keeper(), keeper()];
    expect([await one.runOnce(), await one.runOnce()]).toEqual([HOUR_MS, undefined]);
    expect([await other.runOnce(), await other.runOnce()]).toEqual([HOUR_MS, undefined]);
    const { rows } = await open.database.query<{ in_s: number }>(
      'select extract(epoch from due_at - clock_timestamp())::float8 as in_s from webhook_subscription_keeper',
    );
    expect(rows[0]?.in_s).toBeGreaterThan(3_500);
    expect(rows[0]?.in_s).toBeLessThanOrEqual(3_600);
    await open.database.query('update webhook_subscription_keeper set due_at = clock_timestamp()');
    expect([await one.runOnce(), await other.runOnce()]).toEqual([HOUR_MS, undefined]);
  });

  it('a check without a permit is repeated when the rate limit allows it, and counts as no failure', async () => {
    const failing = keeper('/hook', () =>
      Promise.resolve({ kind: 'notNow', because: 'limit', retryAfterMs: 420_000, reason: 'no call is left' }),
    );
    expect(await failing.runOnce()).toBe(420_000);
    const { rows } = await open.database.query('select failures from webhook_subscription_keeper');
    expect(rows).toEqual([{ failures: 0 }]);
  });

  it.each(['http_500', 'reset', 'malformed', 'html', 'http_429', 'empty'])(
    'retries a Strava subscription after %s',
    async (kind) => {
      await strava.fault('push_subscriptions', kind);
      expect(await keeper().runOnce()).toBe(5_000);
      await strava.heal();
      expect(await keeper().runOnce()).toBe(HOUR_MS);
    },
  );

  it('the calls of a Strava subscription are not charged to the rate limit', async () => {
    await keeper().runOnce();
    const { windows } = (await strava.stats()) as unknown as { windows: unknown[] };
    expect(windows).toEqual([]);
  });

  it('leaves Strava’s subscription to the worker that holds the lease', async () => {
    const before = await strava.subscription();
    const held = await store().claim('strava', 60_000);
    expect(await keeper('/moved').runOnce()).toBeUndefined();
    expect(await strava.subscription()).toEqual(before);
    expect(await store().settle(held!, { afterMs: HOUR_MS, failures: 0 })).toBe(true);
    expect(await keeper('/moved').runOnce()).toBe(HOUR_MS);
    const made = await strava.subscription();
    expect([made?.callback_url, await known()]).toEqual([`${url}/moved`, [String(made?.id)]]);
  });
});

describe('SubscriptionStore', () => {
  let open: OpenDatabase;
  beforeAll(async () => (open = await openTestDatabase()));
  afterAll(() => open.close());
  const store = () => new SubscriptionStore(open.database, new Vault(KEYS), logger);

  it('keeps the secret of a webhook subscription sealed, and drops it with the subscription', async () => {
    const claim = (await store().claim('oura', 60_000))!;
    await store().store(claim, 'all', { id: '1', secret: 'a signing key' });
    const { rows } = await open.database.query('select secret from webhook_subscription');
    expect(JSON.stringify(rows)).not.toContain('a signing key');
    expect(await store().secretsOf('oura')).toEqual(['a signing key']);
    expect(await store().secretsOf('whoop')).toEqual([]);
    await store().store(claim, 'all', { id: '1' });
    expect(await store().secretsOf('oura')).toEqual(['a signing key']);
    await store().store(claim, 'all', { id: '2' });
    expect(await store().secretsOf('oura')).toEqual([]);
  });

  it('seals the secret of a webhook subscription with the newest key during a key rotation', async () => {
    const claim = (await store().claim('whoop', 60_000))!;
    await store().store(claim, 'all', { id: '1', secret: 'a signing key' });
    const newer = [{ version: 2, key: Buffer.alloc(32, 2) }, ...KEYS];
    expect(await rotateKeys(open.database, new Vault(newer))).toEqual({ resealed: 1, unreadable: 0 });
    const without = new SubscriptionStore(open.database, new Vault(newer.slice(0, 1)), logger);
    expect(await without.secretsOf('whoop')).toEqual(['a signing key']);
  });

  it('writes no webhook subscription for a worker whose lease another worker has taken over', async () => {
    const lost = (await store().claim('strava', 0))!;
    const other = (await store().claim('strava', 60_000))!;
    expect(await store().claim('strava', 60_000, true)).toBeUndefined();
    await store().store(other, 'all', { id: 'new' });
    fenceRejected.reset();
    await expect(store().store(lost, 'all', { id: 'old' })).rejects.toThrow(ClaimLost);
    await expect(store().forget(lost, 'all')).rejects.toThrow(ClaimLost);
    expect(await store().renew(lost, 60_000)).toBe(false);
    expect(await store().settle(lost, { afterMs: 0, failures: 0 })).toBe(false);
    expect((await fenceRejected.get()).values).toMatchObject([
      { labels: { kind: 'webhook_subscription' }, value: 3 },
    ]);
    const { rows } = await open.database.query(
      "select subscription_id from webhook_subscription where vendor = 'strava'",
    );
    expect(rows).toEqual([{ subscription_id: 'new' }]);
    expect(await store().claim('strava', 60_000, true)).toBeUndefined();
    expect(await store().renew(other, 60_000)).toBe(true);
    await store().forget(other, 'all');
    await store().forget(other, 'all');
  });
});

describe('the callback of a webhook subscription', () => {
  const complete = {
    apiUrl: '',
    oauthUrl: '',
    client: { id: '1', secret: 'secret' },
    webhookVerifyToken: 'verify',
    webhookPathSecret: 'a-path-nobody-guesses',
  };

  it('the callback of Strava’s subscription has the secret in its path, and needs client, token and secret', () => {
    const { callbackPath } = subscriptionsOf('strava');
    expect(callbackPath(complete)).toBe('/webhooks/strava/a-path-nobody-guesses');
    for (const name of ['client', 'webhookVerifyToken', 'webhookPathSecret'])
      expect(callbackPath({ ...complete, [name]: undefined })).toBeUndefined();
  });

  it.each(vendorsWith('webhook').filter((vendor) => (VENDORS[vendor].webhook as Webhook).subscriptions))(
    'the callback of a subscription at %s is a path of its webhook, and absent without a client',
    (vendor) => {
      expect(subscriptionsOf(vendor).callbackPath(complete)).toMatch(new RegExp(`^/webhooks/${vendor}(/|$)`));
      expect(subscriptionsOf(vendor).callbackPath({ ...complete, client: undefined })).toBeUndefined();
    },
  );
});
