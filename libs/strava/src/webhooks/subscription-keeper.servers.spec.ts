import { createServer, type Server } from 'node:http';
import { type AddressInfo } from 'node:net';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { createLogger, loadConfig, timeScale } from '#platform';
import { OutboundCaller } from '#reliability';
import { CLIENT } from '../../../../test/harness/simulator.js';
import { openTestDatabase, type OpenDatabase } from '../../../../test/harness/test-database.js';
import { SimulatedStrava } from '../simulated-strava.harness.js';
import { SubscriptionKeeper, subscriptionPlan } from './subscription-keeper.js';

const HOUR_MS = 3_600_000;
const logger = createLogger({ level: 'silent', process: 'test' });

describe('the subscription', () => {
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
    await open.database.query('truncate webhook_subscription');
  });

  function keeper(path = '/hook') {
    const plan = { apiUrl: strava.apiUrl, client: CLIENT, verifyToken: 'verify', callbackUrl: url + path };
    return new SubscriptionKeeper(plan, caller, open.database, timeScale(1), logger);
  }

  const known = async () => {
    const { rows } = await open.database.query<{ subscription_id: string }>(
      'select * from webhook_subscription',
    );
    return rows.map(({ subscription_id }) => subscription_id);
  };

  it('is made where there is none, and kept where it is ours', async () => {
    expect(await keeper().runOnce()).toBe(HOUR_MS);
    const made = await strava.subscription();
    expect([made?.callback_url, await known()]).toEqual([`${url}/hook`, [String(made?.id)]]);
    await keeper().runOnce();
    expect((await strava.subscription())?.id).toBe(made?.id);
  });

  it('is replaced where it leads elsewhere', async () => {
    await keeper('/old').runOnce();
    const old = await strava.subscription();
    await keeper('/new').runOnce();
    const made = await strava.subscription();
    expect([made?.callback_url, made?.id === old?.id]).toEqual([`${url}/new`, false]);
    expect(await known()).toEqual([String(made?.id)]);
  });

  it('is tried again, at longer and longer intervals, until our side answers', async () => {
    echo = false;
    const one = keeper();
    const pauses = [];
    for (let n = 0; n < 3; n += 1) pauses.push(await one.runOnce());
    expect([pauses, await known()]).toEqual([[5_000, 10_000, 20_000], []]);
    echo = true;
    expect(await one.runOnce()).toBe(HOUR_MS);
    expect(await known()).toHaveLength(1);
  });

  it.each(['http_500', 'reset', 'malformed', 'html', 'http_429', 'empty'])(
    'lives through %s',
    async (kind) => {
      await strava.fault('push_subscriptions', kind);
      expect(await keeper().runOnce()).toBe(5_000);
      await strava.heal();
      expect(await keeper().runOnce()).toBe(HOUR_MS);
    },
  );

  it('costs nothing of the limits', async () => {
    await keeper().runOnce();
    const { windows } = (await strava.stats()) as unknown as { windows: unknown[] };
    expect(windows).toEqual([]);
  });

  it('is settled by two workers at once', async () => {
    const [one, other] = [keeper(), keeper()];
    await Promise.all([one.runOnce(), other.runOnce()]);
    await one.runOnce();
    expect(await known()).toEqual([String((await strava.subscription())?.id)]);
  });
});

describe('the plan for a subscription', () => {
  const complete = {
    DATABASE_URL: 'postgres://localhost/x',
    REDIS_URL: 'redis://localhost',
    NATS_URL: 'nats://localhost',
    JWT_SECRET: 'x'.repeat(32),
    ENCRYPTION_KEYS: `1:${Buffer.alloc(32).toString('base64')}`,
    PUBLIC_URL: 'https://api.example.com/',
    STRAVA_CLIENT_ID: '1',
    STRAVA_CLIENT_SECRET: 'secret',
    STRAVA_WEBHOOK_VERIFY_TOKEN: 'verify',
    STRAVA_WEBHOOK_PATH_SECRET: 'a-path-nobody-guesses',
  };

  it('leads to our webhook', () => {
    expect(subscriptionPlan(loadConfig(complete))?.callbackUrl).toBe(
      'https://api.example.com/webhooks/strava/a-path-nobody-guesses',
    );
  });

  it.each([[/^PUBLIC_URL$/], [/^STRAVA_/]])('there is none without %s', (names) => {
    const rest = Object.entries(complete).filter(([name]) => !names.test(name));
    expect(subscriptionPlan(loadConfig(Object.fromEntries(rest)))).toBeUndefined();
  });
});
