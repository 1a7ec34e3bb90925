import { randomUUID } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import { type AddressInfo } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { createLogger, type RedisClient, timeScale } from '#platform';
import { budgetConnection, Ledger, VendorBudget, type VendorPolicy } from '#rate-limit';
import { CallAborted, OutboundCaller } from '#reliability';
import { eventually } from '../../../../test/harness/eventually.js';
import { required } from '../../../../test/harness/servers.js';
import { openTestDatabase, type OpenDatabase } from '../../../../test/harness/test-database.js';
import { type CallOutcome } from '../call/call-outcome.js';
import { type CallContext } from '../call/vendor-calls.js';
import { StravaApi } from './api.js';
import { limits } from './limits.js';
import {
  type Connected,
  ageing,
  type GaugedBudget,
  SimulatedStrava,
  stravaCalls,
} from './simulated-strava.harness.js';

const logger = createLogger({ level: 'silent', process: 'test' });
// Windows that never end, so that no test meets a boundary by accident.
const ETERNITY_SECONDS = 40_000_000_000;
const eternal = (limit: number): VendorPolicy => ({
  ...limits,
  counters: limits.counters.map((counter) => ({
    ...counter,
    seconds: ETERNITY_SECONDS,
    limit,
    releasedForLastSeconds: 0,
  })),
});

describe('StravaApi with the simulator', () => {
  let open: OpenDatabase;
  let strava: SimulatedStrava;
  let person: Connected;
  let athleteId: string;
  const connections: RedisClient[] = [];
  const callers: OutboundCaller[] = [];

  beforeAll(async () => {
    open = await openTestDatabase();
    strava = await SimulatedStrava.start();
    person = await strava.connect();
    athleteId = randomUUID();
    await open.database.query("insert into athlete (id, issuer, subject) values ($1, 'test', 'ann')", [
      athleteId,
    ]);
    // A test of many calls must not meet the vendor's own limit.
    await limits(100_000);
  });
  afterEach(() => strava.heal());
  afterAll(async () => {
    for (const redis of connections) redis.disconnect();
    await Promise.all(callers.map((caller) => caller.close()));
    await strava.stop();
    await open.close();
  });

  const limits = (read_15min: number) =>
    strava.control('POST', '/limits', {
      vendor: 'strava',
      read_15min,
      read_day: 100_000,
      overall_15min: 100_000,
      overall_day: 100_000,
    });

  async function budgetOf(policy: VendorPolicy): Promise<VendorBudget> {
    await open.database.query('truncate strava_api_requests');
    await open.database.query("update vendor_budget_epoch set limits = '{}'");
    const redis = budgetConnection({ url: required('REDIS_URL'), keyPrefix: `t:${randomUUID()}:` }, logger, {
      commandTimeout: 30_000,
    });
    connections.push(redis);
    await eventually('the connection', () => redis.status === 'ready');
    return new VendorBudget(policy, redis, new Ledger(open.database, 'strava'), timeScale(1), logger);
  }

  function clientOf(
    budget: GaugedBudget,
    { apiUrl = strava.apiUrl, attemptMs = 2_000, person: owner = person } = {},
  ) {
    const caller = new OutboundCaller(
      { attemptMs, totalMs: 2 * attemptMs + 1_000 },
      { name: 'strava', hosts: [apiUrl], logger, random: () => 0 },
    );
    callers.push(caller);
    return new StravaApi(stravaCalls(apiUrl, caller, budget, strava.tokensOf(owner)));
  }

  const context = (more: Partial<CallContext> = {}): CallContext => ({
    athleteId,
    class: 'live',
    waitMs: 0,
    ...more,
  });

  /** Endpoint and status of each request in the ledger. */
  async function ledger(): Promise<string[]> {
    const statement = 'select endpoint, status from strava_api_requests order by id';
    const { rows } = await open.database.query<{ endpoint: string; status: number | null }>(statement);
    return rows.map(({ endpoint, status }) => `${endpoint} ${status}`);
  }

  async function valueOf<T>(outcome: Promise<CallOutcome<T>>): Promise<T> {
    const result = await outcome;
    if (result.kind !== 'ok') throw new Error(result.reason);
    return result.value;
  }

  const listed = async (client: StravaApi, perPage: number) =>
    (await valueOf(client.list(context(), { perPage }))).activities;

  it('reads lists, details, photos and the athlete from Strava, writes a name, and records each call in the ledger', async () => {
    const client = clientOf(await budgetOf(eternal(100)));
    const all = await listed(client, 200);
    expect(all).toHaveLength(5);
    const [newest] = all;
    const id = newest?.id ?? '';
    const older = await valueOf(client.list(context(), { before: newest?.startTime, perPage: 200 }));
    expect(older.activities.map((activity) => activity.id)).toEqual(all.slice(1).map((one) => one.id));
    const detail = await valueOf(client.activity(context(), id));
    expect(detail).toMatchObject({ id, name: newest?.name, startTime: newest?.startTime });
    expect(await valueOf(client.photos(context(), id))).toHaveLength(newest?.totalPhotoCount ?? -1);
    expect(await valueOf(client.update(context(), id, { name: 'Renamed' }))).toMatchObject({
      id,
      name: 'Renamed',
    });
    expect(await valueOf(client.athlete(context()))).toEqual({ id: person.vendorAthleteId });
    expect(await ledger()).toEqual([
      'activities 200',
      'activities 200',
      'activity 200',
      'photos 200',
      'update_activity 200',
      'athlete 200',
    ]);
  });

  it('keeps every digit of a long activity id of Strava', async () => {
    const first_activity_id = '9007199254740993';
    const longing = await strava.connect({ activities: 2, first_activity_id });
    const client = clientOf(await budgetOf(eternal(100)), { person: longing });
    for (const { id } of await listed(client, 10)) {
      expect(BigInt(id)).toBeGreaterThanOrEqual(BigInt(first_activity_id));
      expect((await valueOf(client.activity(context(), id))).id).toBe(id);
    }
  });

  it.each([
    ['not_found', { kind: 'gone' }, 1],
    ['app_inactive', { because: 'appInactive' }, 1],
    ['http_500', { because: 'outage' }, 2],
    ['reset', { because: 'outage' }, 2],
    ['lost_answer', { because: 'outage' }, 2],
    ['html', { because: 'outage' }, 2],
    ['wrong_length', { because: 'outage' }, 2],
    ['malformed', { because: 'malformed' }, 1],
    ['empty', { because: 'malformed' }, 1],
    ['empty_json', { because: 'malformed' }, 1],
    ['lying_429', { because: 'limit' }, 1],
    ['http_429', { because: 'limit' }, 1],
  ] as const)(
    'returns the outcome for %s of Strava, and settles each request of the call in the ledger',
    async (kind, outcome, requests) => {
      const client = clientOf(await budgetOf(eternal(100)));
      const before = await strava.calls('athlete');
      await strava.fault('athlete', kind);
      expect(await client.athlete(context())).toMatchObject(outcome);
      expect((await strava.calls('athlete')) - before).toBe(requests);
      const entries = await ledger();
      expect(entries).toHaveLength(requests);
      expect(entries.join()).not.toContain('null');
    },
  );

  it.each(['timeout', 'slow', 'slow_body', 'half_open'])(
    'returns an outage within ten seconds after %s of Strava',
    async (kind) => {
      const client = clientOf(await budgetOf(eternal(100)), { attemptMs: 300 });
      await strava.fault('athlete', kind, { delay_ms: 20_000 });
      const startedAt = performance.now();
      expect(await client.athlete(context())).toMatchObject({ because: 'outage' });
      expect(performance.now() - startedAt).toBeLessThan(10_000);
      expect(await ledger()).toHaveLength(2);
    },
  );

  it('repeats a call to Strava once after a 500, and returns the second answer', async () => {
    const client = clientOf(await budgetOf(eternal(100)));
    await strava.fault('athlete', 'http_500', { count: 1 });
    expect(await valueOf(client.athlete(context()))).toEqual({ id: person.vendorAthleteId });
    expect(await ledger()).toEqual(['athlete 500', 'athlete 200']);
  });

  it('returns malformed for an answer of 9 MB from Strava', async () => {
    const huge: Server = createServer((_, response) =>
      response.setHeader('content-type', 'application/json').end(`{"id":1,"x":"${'x'.repeat(9_000_000)}"}`),
    );
    await new Promise<void>((resolve) => huge.listen(0, '127.0.0.1', resolve));
    const apiUrl = `http://127.0.0.1:${(huge.address() as AddressInfo).port}`;
    const client = clientOf(await budgetOf(eternal(100)), { apiUrl });
    expect(await client.athlete(context())).toMatchObject({ because: 'malformed' });
    expect(await ledger()).toEqual(['athlete 200']);
    huge.closeAllConnections();
    huge.close();
  });

  it('StravaApi calls Strava only with a permit, and frees the slot of each finished call', async () => {
    const budget = await budgetOf(eternal(100));
    const client = clientOf(budget);
    const [{ id } = { id: '' }] = await listed(client, 1);
    const used = (await budget.gauges()).find(
      ({ bucket, window }) => bucket === 'read' && window === '15min',
    );
    // Strava reports the limit with the next answer: six calls are left.
    await limits((used?.used ?? 0) + 6);
    // More calls than slots, one after the other.
    for (let n = 0; n < 6; n += 1) await client.activity(context(), id);
    const before = await strava.stats();
    expect(await client.activity(context(), id)).toMatchObject({ kind: 'notNow', because: 'limit' });
    expect((await strava.stats()).by_endpoint).toEqual(before.by_endpoint);
    await limits(100_000);
  });

  it('sends four of ten simultaneous requests for details to Strava, and refuses six because no slot is free', async () => {
    const client = clientOf(await budgetOf(eternal(100)));
    const [{ id } = { id: '' }] = await listed(client, 1);
    await strava.fault('activity', 'slow', { delay_ms: 300 });
    const calls = await Promise.all(Array.from({ length: 10 }, () => client.activity(context(), id)));
    const refused = calls.filter(({ kind }) => kind === 'notNow');
    const noSlot = { reason: 'No call to Strava is left (slot)' };
    expect(refused).toMatchObject(Array.from({ length: 6 }, () => noSlot));
  });

  it('exchanges a stale permit for a new permit before it sends the request to Strava', async () => {
    const budget = await budgetOf(eternal(100));
    let stale = 2;
    const before = await strava.calls('athlete');
    await clientOf(ageing(budget, () => (stale -= 1) >= 0)).athlete(context());
    expect((await strava.calls('athlete')) - before).toBe(1);
    expect(await ledger()).toEqual(['athlete 200']);
    const used = (await budget.gauges()).find(
      ({ bucket, window }) => bucket === 'read' && window === '15min',
    );
    // The usage comes from Strava's headers. Permits that were given back do not count.
    expect(used?.used).toBeGreaterThan(0);
  });

  it('aborts a call to Strava by its signal, and settles the request in the ledger', async () => {
    const client = clientOf(await budgetOf(eternal(100)));
    await strava.fault('activity', 'timeout');
    const abort = new AbortController();
    const before = await strava.calls('activity');
    const call = client.activity(context({ signal: abort.signal }), '1').catch((error: unknown) => error);
    await eventually('the request', async () => (await strava.calls('activity')) > before);
    abort.abort();
    expect(await call).toBeInstanceOf(CallAborted);
    expect(await ledger()).toEqual(['activity 0']);
  });

  it('repeats a call once with a renewed token after a 401 of Strava', async () => {
    const budget = await budgetOf(eternal(100));
    const forgetful = await strava.connect();
    forgetful.accessToken = 'something-else';
    const client = clientOf(budget, { person: forgetful });
    expect(await valueOf(client.athlete(context()))).toEqual({ id: forgetful.vendorAthleteId });
    expect(await ledger()).toEqual(['athlete 401', 'athlete 200']);
  });

  it('returns revoked after the athlete has deauthorized the app at Strava', async () => {
    const leaving = await strava.connect();
    const client = clientOf(await budgetOf(eternal(100)), { person: leaving });
    await client.athlete(context());
    await strava.deauthorize(leaving.vendorAthleteId);
    expect(await client.athlete(context())).toMatchObject({ kind: 'revoked' });
  });

  it('returns refused for a missing scope at Strava, without a second request', async () => {
    const shy = await strava.connect({ scopes: ['read', 'activity:read'] });
    const client = clientOf(await budgetOf(eternal(100)), { person: shy });
    const [{ id } = { id: '' }] = await listed(client, 1);
    expect(await client.update(context(), id, { name: 'x' })).toMatchObject({ kind: 'refused', status: 401 });
    expect((await ledger()).at(-1)).toBe('update_activity 401');
  });
});
