import { randomUUID } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import { type AddressInfo } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { type Redis } from 'ioredis';
import { type CallBudget } from '#connections';
import { createLogger, SystemClock, timeScale } from '#platform';
import { budgetConnection, Ledger, stravaPolicy, VendorBudget, type VendorPolicy } from '#rate-limit';
import { CallAborted, OutboundCaller } from '#reliability';
import { eventually } from '../../../test/harness/eventually.js';
import { required } from '../../../test/harness/servers.js';
import { openTestDatabase, type OpenDatabase } from '../../../test/harness/test-database.js';
import { type Connected, SimulatedStrava } from './simulated-strava.harness.js';
import { StravaClient, type Who } from './strava-client.js';
import {
  StravaAnswerMalformed,
  StravaAppInactive,
  StravaForbidden,
  StravaNotFound,
  StravaOutage,
  StravaRateLimited,
  StravaTokenRevoked,
} from './strava.errors.js';

const logger = createLogger({ level: 'silent', process: 'test' });
// Windows without an end, so that no test meets a boundary by accident.
const ETERNITY_SECONDS = 40_000_000_000;
const eternal = (limit: number): VendorPolicy => ({
  ...stravaPolicy,
  counters: stravaPolicy.counters.map((counter) => ({
    ...counter,
    seconds: ETERNITY_SECONDS,
    limit,
    releasedForLastSeconds: 0,
  })),
});

describe('Strava, as the simulator plays it', () => {
  let open: OpenDatabase;
  let strava: SimulatedStrava;
  let person: Connected;
  let athleteId: string;
  const connections: Redis[] = [];
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
    const redis = budgetConnection({ url: required('REDIS_URL'), keyPrefix: `t:${randomUUID()}:` }, logger);
    redis.options.commandTimeout = 30_000;
    connections.push(redis);
    await eventually('the connection', () => redis.status === 'ready');
    return new VendorBudget(policy, redis, new Ledger(open.database, 'strava'), timeScale(1), logger);
  }

  function clientOf(
    budget: CallBudget,
    { apiUrl = strava.apiUrl, attemptMs = 2_000, person: whose = person } = {},
  ) {
    const caller = new OutboundCaller(
      { attemptMs, totalMs: 2 * attemptMs + 1_000 },
      { name: 'strava', hosts: [apiUrl], logger, random: () => 0 },
    );
    callers.push(caller);
    const tokens = strava.tokensOf(whose);
    const renamed = {
      access: () => tokens.access(whose.vendorAthleteId),
      rejected: (_: string, token: string) => tokens.rejected(whose.vendorAthleteId, token),
    };
    return new StravaClient(apiUrl, caller, budget, renamed, new SystemClock(), timeScale(1));
  }

  const who = (more: Partial<Who> = {}): Who => ({ athleteId, class: 'live', ...more });

  /** The ledger's word: what was sent, and how it ended. */
  async function ledger(): Promise<string[]> {
    const statement = 'select endpoint, status from strava_api_requests order by id';
    const { rows } = await open.database.query<{ endpoint: string; status: number | null }>(statement);
    return rows.map(({ endpoint, status }) => `${endpoint} ${status}`);
  }

  async function failure(work: Promise<unknown>): Promise<unknown> {
    return work.then(
      () => new Error('it did not fail'),
      (error: unknown) => error,
    );
  }

  it('lists, shows, streams, and shows photos; each call is in the ledger', async () => {
    const client = clientOf(await budgetOf(eternal(100)));
    const listed = await client.listActivities(who(), { perPage: 200 });
    expect(listed).toHaveLength(5);
    const [newest] = listed;
    const id = newest?.id ?? '';
    const older = await client.listActivities(who(), { before: newest?.startTime, perPage: 200 });
    expect(older.map((activity) => activity.id)).toEqual(listed.slice(1).map((activity) => activity.id));
    const detail = await client.activity(who(), id);
    expect(detail).toMatchObject({ id, name: newest?.name, startTime: newest?.startTime });
    const withStreams = listed.find(({ manual }) => !manual)?.id ?? '';
    expect(Object.keys(await client.streams(who(), withStreams, ['time', 'distance']))).toContain('time');
    expect(await client.photos(who(), id)).toHaveLength(newest?.totalPhotoCount ?? -1);
    expect(await client.updateActivity(who(), id, { name: 'Renamed' })).toMatchObject({
      id,
      name: 'Renamed',
    });
    expect(await client.athlete(who())).toEqual({ id: person.vendorAthleteId });
    expect(await ledger()).toEqual([
      'activities 200',
      'activities 200',
      'activity 200',
      'streams 200',
      'photos 200',
      'update_activity 200',
      'athlete 200',
    ]);
  });

  it('keeps the digits of a long id', async () => {
    const first_activity_id = '9007199254740993';
    const longing = await strava.connect({ activities: 2, first_activity_id });
    const client = clientOf(await budgetOf(eternal(100)), { person: longing });
    const listed = await client.listActivities(who(), { perPage: 10 });
    for (const { id } of listed) {
      expect(BigInt(id)).toBeGreaterThanOrEqual(BigInt(first_activity_id));
      expect((await client.activity(who(), id)).id).toBe(id);
    }
  });

  it.each([
    ['not_found', StravaNotFound, 1],
    ['app_inactive', StravaAppInactive, 1],
    ['http_500', StravaOutage, 2],
    ['reset', StravaOutage, 2],
    ['lost_answer', StravaOutage, 2],
    ['html', StravaOutage, 2],
    ['wrong_length', StravaOutage, 2],
    ['malformed', StravaAnswerMalformed, 1],
    ['empty', StravaAnswerMalformed, 1],
    ['empty_json', StravaAnswerMalformed, 1],
    ['lying_429', StravaRateLimited, 1],
    ['http_429', StravaRateLimited, 1],
  ] as const)(
    '%s is told apart, and each of its requests is accounted for',
    async (kind, error, requests) => {
      const client = clientOf(await budgetOf(eternal(100)));
      const before = await strava.calls('athlete');
      await strava.fault('athlete', kind);
      expect(await failure(client.athlete(who()))).toBeInstanceOf(error);
      expect((await strava.calls('athlete')) - before).toBe(requests);
      const entries = await ledger();
      expect(entries).toHaveLength(requests);
      expect(entries.join()).not.toContain('null');
    },
  );

  it.each(['timeout', 'slow', 'slow_body', 'half_open'])('%s is an outage, in time', async (kind) => {
    const client = clientOf(await budgetOf(eternal(100)), { attemptMs: 300 });
    await strava.fault('athlete', kind, { delay_ms: 20_000 });
    const startedAt = performance.now();
    expect(await failure(client.athlete(who()))).toBeInstanceOf(StravaOutage);
    expect(performance.now() - startedAt).toBeLessThan(10_000);
    expect(await ledger()).toHaveLength(2);
  });

  it('is back after one failure, and nobody notices', async () => {
    const client = clientOf(await budgetOf(eternal(100)));
    await strava.fault('athlete', 'http_500', { count: 1 });
    expect(await client.athlete(who())).toEqual({ id: person.vendorAthleteId });
    expect(await ledger()).toEqual(['athlete 500', 'athlete 200']);
  });

  it('may send more than is wanted', async () => {
    const huge: Server = createServer((_, response) =>
      response.setHeader('content-type', 'application/json').end(`{"id":1,"x":"${'x'.repeat(9_000_000)}"}`),
    );
    await new Promise<void>((resolve) => huge.listen(0, '127.0.0.1', resolve));
    const apiUrl = `http://127.0.0.1:${(huge.address() as AddressInfo).port}`;
    const client = clientOf(await budgetOf(eternal(100)), { apiUrl });
    expect(await failure(client.athlete(who()))).toBeInstanceOf(StravaAnswerMalformed);
    expect(await ledger()).toEqual(['athlete 200']);
    huge.closeAllConnections();
    huge.close();
  });

  it('is not called at all when the budget is used up, and the slot of a call is free again afterwards', async () => {
    const budget = await budgetOf(eternal(100));
    const client = clientOf(budget);
    const [{ id } = { id: '' }] = await client.listActivities(who(), { perPage: 1 });
    const used = (await budget.gauges()).find(
      ({ bucket, window }) => bucket === 'read' && window === '15min',
    );
    // By which we learn that six are left.
    await limits((used?.used ?? 0) + 6);
    // More than there are slots, one after the other.
    for (let n = 0; n < 6; n += 1) await client.activity(who(), id);
    const before = await strava.stats();
    expect(await failure(client.activity(who(), id))).toMatchObject({ code: 'STRAVA.RATE_LIMITED' });
    expect((await strava.stats()).by_endpoint).toEqual(before.by_endpoint);
    await limits(100_000);
  });

  it('lets no more details through at once than there are slots', async () => {
    const client = clientOf(await budgetOf(eternal(100)));
    const [{ id } = { id: '' }] = await client.listActivities(who(), { perPage: 1 });
    await strava.fault('activity', 'slow', { delay_ms: 300 });
    const calls = await Promise.allSettled(Array.from({ length: 10 }, () => client.activity(who(), id)));
    const refused = calls.flatMap((call) =>
      call.status === 'rejected' ? [call.reason as StravaRateLimited] : [],
    );
    expect(refused.map(({ window }) => window)).toEqual(Array.from({ length: 6 }, () => 'slot'));
  });

  it('a permit that grew stale is exchanged before anything is sent', async () => {
    const budget = await budgetOf(eternal(100));
    let stale = 2;
    const ageing: CallBudget = {
      acquirePatiently: (call) => budget.acquire(call),
      isFresh: (permit) => (stale > 0 ? (stale -= 1) < 0 : budget.isFresh(permit)),
      settle: (permit, status, usage) => budget.settle(permit, status, usage),
      giveBack: (permit) => budget.giveBack(permit),
    };
    const before = await strava.calls('athlete');
    await clientOf(ageing).athlete(who());
    expect((await strava.calls('athlete')) - before).toBe(1);
    expect(await ledger()).toEqual(['athlete 200']);
    const used = (await budget.gauges()).find(
      ({ bucket, window }) => bucket === 'read' && window === '15min',
    );
    // What the vendor's headers say counts, and nothing of what was given back.
    expect(used?.used).toBeGreaterThan(0);
  });

  it('is aborted without leaving anything open', async () => {
    const client = clientOf(await budgetOf(eternal(100)));
    await strava.fault('activity', 'timeout');
    const abort = new AbortController();
    const before = await strava.calls('activity');
    const call = failure(client.activity(who({ signal: abort.signal }), '1'));
    await eventually('the request', async () => (await strava.calls('activity')) > before);
    abort.abort();
    expect(await call).toBeInstanceOf(CallAborted);
    expect(await ledger()).toEqual(['activity 0']);
  });

  it('renews a token that was refused, once', async () => {
    const budget = await budgetOf(eternal(100));
    const forgetful = await strava.connect();
    forgetful.accessToken = 'something-else';
    const client = clientOf(budget, { person: forgetful });
    expect(await client.athlete(who())).toEqual({ id: forgetful.vendorAthleteId });
    expect(await ledger()).toEqual(['athlete 401', 'athlete 200']);
  });

  it('says that an athlete has left', async () => {
    const leaving = await strava.connect();
    const client = clientOf(await budgetOf(eternal(100)), { person: leaving });
    await client.athlete(who());
    await strava.deauthorize(leaving.vendorAthleteId);
    expect(await failure(client.athlete(who()))).toBeInstanceOf(StravaTokenRevoked);
  });

  it('does not take a missing scope for a dead token', async () => {
    const shy = await strava.connect({ scopes: ['read', 'activity:read'] });
    const client = clientOf(await budgetOf(eternal(100)), { person: shy });
    const [{ id } = { id: '' }] = await client.listActivities(who(), { perPage: 1 });
    expect(await failure(client.updateActivity(who(), id, { name: 'x' }))).toBeInstanceOf(StravaForbidden);
    expect((await ledger()).at(-1)).toBe('update_activity 401');
  });
});
