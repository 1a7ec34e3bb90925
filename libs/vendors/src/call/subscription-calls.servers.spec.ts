import { randomUUID } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import { type AddressInfo } from 'node:net';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { createLogger, timeScale } from '#platform';
import { budgetConnection, Ledger, VendorBudget } from '#rate-limit';
import { OutboundCaller } from '#reliability';
import { eventually } from '../../../../test/harness/eventually.js';
import { required } from '../../../../test/harness/servers.js';
import { SimulatorProcess } from '../../../../test/harness/simulator.js';
import { testEnvironment } from '../../../../test/harness/environment.js';
import { openTestDatabase, type OpenDatabase } from '../../../../test/harness/test-database.js';
import { type VendorId, VENDORS, vendorsWith } from '../registry.js';
import { loadProductConfig } from '../settings.js';
import { type Webhook } from '../webhook.js';
import { subscriptionCall } from './subscription-calls.js';

const logger = createLogger({ level: 'silent', process: 'test' });
const subscriptionsOf = (vendor: VendorId) => (VENDORS[vendor].webhook as Webhook).subscriptions;
const vendors = vendorsWith('webhook').filter(subscriptionsOf);
const charging = vendors.filter((vendor) => subscriptionsOf(vendor)?.isCharged);

describe('the calls about webhook subscriptions', () => {
  let open: OpenDatabase;
  let simulator: SimulatorProcess;
  let receiver: Server;
  let callers: OutboundCaller[];
  const config = { url: required('REDIS_URL'), keyPrefix: `t:${randomUUID()}:` };
  // A long timeout: a busy machine must not fail these tests.
  const redis = budgetConnection(config, logger, { commandTimeout: 30_000 });

  beforeAll(async () => {
    open = await openTestDatabase();
    await eventually('the connection', () => redis.status === 'ready');
  });
  afterAll(async () => {
    redis.disconnect();
    await open.close();
  });
  beforeEach(async () => {
    callers = [];
    simulator = await SimulatorProcess.start();
    // Passes the challenge of every vendor.
    receiver = createServer((request, response) => {
      const { searchParams } = new URL(request.url ?? '', 'http://here');
      const challenge = {
        'hub.challenge': searchParams.get('hub.challenge'),
        challenge: searchParams.get('challenge'),
      };
      response.setHeader('content-type', 'application/json').end(JSON.stringify(challenge));
    });
    await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
    for (const vendor of vendors) await open.database.query(`truncate ${vendor}_api_requests`);
  });
  afterEach(async () => {
    for (const caller of callers) await caller.close();
    await simulator.stop();
    receiver.closeAllConnections();
    receiver.close();
  });

  async function subscriptionsAt(vendor: VendorId) {
    const { env, release } = await testEnvironment(simulator.env);
    await release();
    const config = loadProductConfig(env).vendors[vendor];
    const bounds = { attemptMs: 5_000, totalMs: 8_000 };
    const caller = new OutboundCaller(bounds, { name: vendor, hosts: [config.apiUrl], logger });
    callers.push(caller);
    const ledger = new Ledger(open.database, vendor);
    const budget = new VendorBudget(VENDORS[vendor].limits, redis, ledger, timeScale(1), logger);
    const part = subscriptionsOf(vendor)!;
    const [topic = ''] = part.topics;
    const callbackUrl = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}${part.callbackPath(config)}`;
    const api = part.at(config, subscriptionCall(VENDORS[vendor], caller, budget));
    return { api, create: () => api.create(topic, callbackUrl), budget };
  }

  interface Counts {
    readonly total: number;
    /** For each window, the calls that were charged to it, by limit. */
    readonly windows: ReadonlyArray<{ readonly used: Readonly<Record<string, number>> }>;
  }
  const countsOf = async (vendor: VendorId) => {
    const { [vendor]: counts } = await simulator.control<Record<string, Counts>>('GET', '/stats');
    const { total, windows } = counts!;
    return {
      sent: total,
      charged: windows.reduce((sum, { used }) => sum + Math.max(...Object.values(used)), 0),
    };
  };
  const chargedTo = async (vendor: VendorId) => {
    const { count } = await open.database.query(
      `select from ${vendor}_api_requests where endpoint = 'subscriptions' and class = 'live'`,
    );
    return count;
  };

  it.each(vendors)(
    'each request about a subscription at %s is charged to our budget exactly if the vendor counts it',
    async (vendor) => {
      const { api, create } = await subscriptionsAt(vendor);
      await api.list();
      await create();
      const listed = await api.list();
      expect(listed).toMatchObject({ kind: 'ok', value: [expect.anything()] });
      if (listed.kind === 'ok') await api.remove(listed.value[0]!);
      const { sent, charged } = await countsOf(vendor);
      expect(sent).toBe(4);
      expect(await chargedTo(vendor)).toBe(charged);
    },
  );

  it.each(charging)(
    'a 429 about a subscription at %s closes the window for all calls, and the next call is not sent',
    async (vendor) => {
      const { api, budget } = await subscriptionsAt(vendor);
      await simulator.fault(vendor, 'subscriptions', 'http_429');
      expect(await api.list()).toMatchObject({ kind: 'notNow', because: 'limit' });
      const { sent } = await countsOf(vendor);
      const refusal = await api.list();
      expect(refusal.kind === 'notNow' && refusal.retryAfterMs).toBeGreaterThan(1_000);
      expect((await countsOf(vendor)).sent).toBe(sent);
      const other = { endpoint: 'exercise', class: 'live', userId: null } as const;
      expect((await budget.waitForPermit(other, { waitMs: 0 })).kind).toBe('notNow');
    },
  );
});
