import { randomUUID } from 'node:crypto';
import { createServer, type OutgoingHttpHeaders, type Server } from 'node:http';
import { type AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { createLogger, type RedisClient, timeScale } from '#platform';
import { budgetConnection, Ledger, VendorBudget, type VendorPolicy } from '#rate-limit';
import { OutboundCaller } from '#reliability';
import { newAthlete } from '../../../../test/harness/athletes.js';
import { eventually } from '../../../../test/harness/eventually.js';
import { required } from '../../../../test/harness/servers.js';
import { type OpenDatabase, openTestDatabase } from '../../../../test/harness/test-database.js';
import { VENDOR_IDS, VENDORS } from '../registry.js';
import { type TokenSource } from './token-source.js';
import { VendorCalls } from './vendor-calls.js';

const SECOND_MS = 1_000;
const DAY_MS = 86_400_000;
const YEAR_MS = 365 * DAY_MS;
// The guard of two seconds, up to six for a window that began with a request, and the time of the call.
const SLACK_MS = 20 * SECOND_MS;

const logger = createLogger({ level: 'silent', process: 'test' });
const moment = (aheadMs: number) => new Date(Date.now() + aheadMs).toUTCString();

type Headers = () => OutgoingHttpHeaders;

const DATES: ReadonlyArray<readonly [string, Headers]> = [
  ['without a Date', () => ({})],
  ['with a Date a day behind', () => ({ date: moment(-DAY_MS) })],
  ['with a Date a day ahead', () => ({ date: moment(DAY_MS) })],
  ['with an unreadable Date', () => ({ date: 'yesterday' })],
  ['with a Date of no day', () => ({ date: 'Wed, 99 Foo 2026 12:00:00 GMT' })],
];

const WAITS: ReadonlyArray<readonly [string, Headers]> = [
  ['in an hour, as a date', () => ({ date: moment(0), 'retry-after': moment(3_600_000) })],
  ['in an hour, as a date, without a Date', () => ({ 'retry-after': moment(3_600_000) })],
  ['tomorrow, as a date', () => ({ date: moment(-DAY_MS), 'retry-after': moment(3_600_000) })],
  ['a date of the past', () => ({ date: moment(0), 'retry-after': moment(-3_600_000) })],
  ['negative', () => ({ date: moment(0), 'retry-after': '-60' })],
  ['a word', () => ({ date: moment(0), 'retry-after': 'soon' })],
];

const LONG_WAITS: ReadonlyArray<readonly [string, Headers]> = [
  ['a year in seconds', () => ({ date: moment(0), 'retry-after': String(YEAR_MS / SECOND_MS) })],
  ['a number beyond all numbers', () => ({ date: moment(0), 'retry-after': '9'.repeat(400) })],
];

const IN_A_YEAR: ReadonlyArray<readonly [string, Headers]> = [
  ['a date in a year', () => ({ date: moment(0), 'retry-after': moment(YEAR_MS) })],
];

const retrying = (rows: ReadonlyArray<readonly [string, Headers]>) =>
  rows.map(([title, headers]) => [`whose Retry-After is ${title}`, headers] as const);

/** The moment after which a 429 of now may close nothing: the end of the vendor's day, or of its longest window. */
function latestEndMs({ counters }: VendorPolicy): number {
  const day = counters.find(({ window }) => window === 'day');
  if (day && day.alignment !== 'first request') return (Math.floor(Date.now() / DAY_MS) + 1) * DAY_MS;
  return Date.now() + Math.max(...counters.map(({ seconds }) => seconds)) * SECOND_MS;
}

describe.each(VENDOR_IDS)('an answer of %s with odd headers', (id) => {
  const keyPrefix = `t:${randomUUID()}:`;
  const vendor = VENDORS[id];
  let open: OpenDatabase;
  let redis: RedisClient;
  let server: Server;
  let caller: OutboundCaller;
  let athleteId: string;
  let apiUrl: string;
  let answer: { readonly status: number; readonly headers: OutgoingHttpHeaders };
  let requests: number;

  beforeAll(async () => {
    open = await openTestDatabase();
    athleteId = await newAthlete(open.database);
    const config = { url: required('REDIS_URL'), keyPrefix };
    redis = budgetConnection(config, logger, { commandTimeout: 30_000 });
    await eventually('the connection', () => redis.status === 'ready');
    server = createServer((_, response) => {
      requests += 1;
      response.sendDate = false;
      response.writeHead(answer.status, { 'content-type': 'application/json', ...answer.headers }).end('{}');
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    apiUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const bounds = { attemptMs: 5_000, totalMs: 8_000 };
    caller = new OutboundCaller(bounds, { name: 'test', hosts: [apiUrl], logger });
  });
  beforeEach(async () => {
    requests = 0;
    const keys = await redis.keys(`${keyPrefix}*`);
    if (keys.length > 0) await redis.del(keys.map((key) => key.slice(keyPrefix.length)));
    await open.database.query(`truncate ${id}_api_requests`);
  });
  afterAll(async () => {
    await caller.close();
    await new Promise((resolve) => server.close(resolve));
    redis.disconnect();
    await open.close();
  });

  function newCalls(): VendorCalls {
    const access = { kind: 'token', token: 'token', connection: 'connection' } as const;
    const tokens: TokenSource = {
      access: () => Promise.resolve(access),
      rejected: () => Promise.resolve(access),
      isConnected: () => Promise.resolve(true),
    };
    const scale = timeScale(1);
    const budget = new VendorBudget(vendor.limits, redis, new Ledger(open.database, id), scale, logger);
    return new VendorCalls(vendor, { apiUrl, caller, budget, tokens, scale });
  }
  const call = (calls: VendorCalls) =>
    calls.call({ athleteId, class: 'live' }, { endpoint: 'test', path: '/' }, () => 'read');

  it.each([...DATES, ...retrying([...WAITS, ...LONG_WAITS, ...IN_A_YEAR])])(
    'a 429 %s stops calls at once, and at most until the end of the vendor’s day',
    async (_, headers) => {
      answer = { status: 429, headers: headers() };
      const calls = newCalls();
      const first = await call(calls);
      const latestMs = latestEndMs(vendor.limits);
      expect(first).toMatchObject({ kind: 'notNow', because: 'limit' });
      // A rebuilt budget reads the 429 from the ledger.
      const outcomes = [first, await call(calls), await call(newCalls())];
      for (const outcome of outcomes) {
        const retryAfterMs = outcome.kind === 'notNow' ? outcome.retryAfterMs : NaN;
        expect(retryAfterMs).toBeGreaterThan(0);
        expect(Date.now() + retryAfterMs).toBeLessThan(latestMs + SLACK_MS);
      }
    },
  );

  it.each(DATES)('an answer %s holds up no further call', async (_, headers) => {
    answer = { status: 200, headers: headers() };
    const calls = newCalls();
    expect(await call(calls)).toEqual({ kind: 'ok', value: 'read' });
    expect(await call(calls)).toEqual({ kind: 'ok', value: 'read' });
    expect(requests).toBe(2);
  });

  it.each([
    ...retrying([...WAITS, ...IN_A_YEAR]).map((row) => [...row, 2] as const),
    ...retrying(LONG_WAITS).map((row) => [...row, 1] as const),
  ])('a 503 %s ends the call within its deadline, with two requests at most', async (_, headers, sent) => {
    answer = { status: 503, headers: headers() };
    const startedAtMs = performance.now();
    expect(await call(newCalls())).toMatchObject({ kind: 'broken', because: 'outage' });
    // Near a boundary the second permit may come too late for the call's deadline.
    expect(requests).toBeGreaterThanOrEqual(1);
    expect(requests).toBeLessThanOrEqual(sent);
    // The longest wait for a permit, twice, and the call.
    expect(performance.now() - startedAtMs).toBeLessThan(30_000);
  });
});
