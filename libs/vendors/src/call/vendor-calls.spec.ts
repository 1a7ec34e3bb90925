import { describe, expect, it, jest } from '@jest/globals';
import { z } from 'zod';
import { createLogger, timeScale } from '#platform';
import {
  BOUNDARY_WAIT_MS,
  type GrantedPermit,
  type NotNow,
  type Permit,
  type PermitOutcome,
  type VendorCall,
} from '#rate-limit';
import { CallAborted, OutboundCaller, type OutboundRequest } from '#reliability';
import { failureCode } from './call-outcome.js';
import { pagedList } from './paged-list.js';
import { type TokenAccess, type TokenSource } from './token-source.js';
import {
  type CallBudget,
  type CallContext,
  type CalledVendor,
  VendorCalls,
  type VendorRequest,
} from './vendor-calls.js';

const logger = createLogger({ level: 'silent', process: 'test' });
const CONTEXT: CallContext = { athleteId: 'ann', class: 'live' };
const REQUEST: VendorRequest = { endpoint: 'sleep', path: '/sleep/1' };
const NO_RESERVE = { percent: 0, atMost: 0, countsThisCall: false };
const VENDOR: CalledVendor = {
  id: 'acme',
  title: 'Acme',
  limits: {
    vendor: 'acme',
    counters: [
      {
        bucket: 'read',
        window: 'minute',
        seconds: 60,
        limit: 100,
        reserve: { live: NO_RESERVE, import: NO_RESERVE, backfill: NO_RESERVE },
        releasedForLastSeconds: 0,
        key: 'acme:',
      },
    ],
    slots: 4,
    atLimit: 'resume',
    rateHeaders: {
      form: 'lists',
      windows: ['minute'],
      buckets: [{ bucket: 'read', limit: 'x-limit', usage: 'x-usage' }],
    },
  },
  readFault: ({ body }) => {
    const text = body.toString('utf8');
    if (text.includes('scope')) return { means: 'missing scope', text: 'a scope is missing' };
    return text.includes('inactive') ? { means: 'app inactive' } : {};
  },
};

/** Grants every permit unless `instead` is set, and records each settlement. */
class FakeBudget implements CallBudget {
  readonly calls: VendorCall[] = [];
  readonly waits: number[] = [];
  readonly settled: Array<{ status: number; headers: Readonly<Record<string, string>> } | undefined> = [];
  returned = 0;
  instead: Exclude<PermitOutcome, { kind: 'granted' }> | undefined;
  closes: NotNow | undefined;

  waitForPermit(call: VendorCall, { waitMs }: { waitMs: number }): Promise<PermitOutcome> {
    this.calls.push(call);
    this.waits.push(waitMs);
    return Promise.resolve(this.instead ?? this.granted(call));
  }

  private granted(call: VendorCall): GrantedPermit {
    const granted: GrantedPermit = {
      kind: 'granted',
      permit: { call } as Permit,
      isFresh: () => true,
      settle: (answer) => {
        this.settled.push(answer);
        if (answer?.status === 429) granted.closedWindow = this.closes;
        return Promise.resolve();
      },
      giveBack: () => {
        this.returned += 1;
        return Promise.resolve();
      },
    };
    return granted;
  }
}

const REVOKED: TokenAccess = { kind: 'revoked', reason: 'Acme has ended the connection' };

/** Issues `token 0`, `token 1` and so on; `revokesAt`: the renewal that the vendor refuses. */
class FakeTokens implements TokenSource {
  readonly rejections: string[] = [];
  revokesAt = Infinity;
  first: TokenAccess | undefined;
  private issued = 0;

  access = (): Promise<TokenAccess> =>
    Promise.resolve(this.first ?? { kind: 'token', token: `token ${this.issued}`, connection: 'one' });
  rejected = (_athleteId: string, _vendor: string, token: string): Promise<TokenAccess> => {
    this.rejections.push(token);
    if (this.rejections.length >= this.revokesAt) return Promise.resolve(REVOKED);
    this.issued += 1;
    return this.access();
  };
  hasEnded = false;
  isConnected = () => Promise.resolve(!this.hasEnded);
}

interface Reply {
  readonly status?: number;
  readonly body?: unknown;
  readonly headers?: Record<string, string>;
}

/** A vendor with scripted replies; the last one repeats. */
function setUp(replies: readonly Reply[], vendor: Partial<CalledVendor> = {}) {
  const budget = new FakeBudget();
  const tokens = new FakeTokens();
  const requests: OutboundRequest[] = [];
  const waiting = [...replies];
  const caller = new OutboundCaller(
    { attemptMs: 1_000, totalMs: 1_000 },
    {
      name: 'acme',
      hosts: ['http://acme.test/api'],
      logger,
      random: () => -0.33,
      exchange: (request, { mayWrite }) => {
        requests.push(request);
        if (!mayWrite()) return Promise.resolve({ kind: 'stale' });
        const {
          status = 200,
          body = {},
          headers,
        } = (waiting.length > 1 ? waiting.shift() : waiting[0]) ?? {};
        const text = typeof body === 'string' ? body : JSON.stringify(body);
        return Promise.resolve({
          kind: 'answered',
          answer: {
            status,
            headers: { 'content-type': 'application/json; charset=utf-8', ...headers },
            body: Buffer.from(text),
          },
        });
      },
    },
  );
  const calls = new VendorCalls(
    { ...VENDOR, ...vendor },
    { apiUrl: 'http://acme.test/api', caller, budget, tokens, scale: timeScale(1) },
  );
  const get = (context: Partial<CallContext> = {}) =>
    calls.call({ ...CONTEXT, ...context }, REQUEST, (json) => json);
  return { calls, get, budget, tokens, requests };
}

const tokensOf = (requests: readonly OutboundRequest[]) =>
  requests.map(({ headers }) => headers?.authorization);

describe('VendorCalls.call', () => {
  it('returns the parsed JSON of a vendor’s answer, and settles the permit with its headers', async () => {
    const headers = { 'x-limit': '100', 'x-usage': '7' };
    const { get, budget, requests } = setUp([{ body: { id: 'a' }, headers }]);
    expect(await get()).toEqual({ kind: 'ok', value: { id: 'a' } });
    expect(requests).toMatchObject([
      { method: 'GET', url: 'http://acme.test/api/sleep/1', headers: { authorization: 'Bearer token 0' } },
    ]);
    expect(budget.settled).toMatchObject([{ status: 200, headers }]);
  });

  it('charges a vendor call to its class, endpoint and athlete, with the slot that the request needs', async () => {
    const { calls, budget } = setUp([{}]);
    const request = { ...REQUEST, holdsSlot: true, needsCounters: true };
    await calls.call({ ...CONTEXT, class: 'import' }, request, (json) => json);
    expect(budget.calls).toEqual([
      { endpoint: 'sleep', class: 'import', userId: 'ann', holdsSlot: true, needsCounters: true },
    ]);
  });

  it('passes the caller’s `waitMs` of a vendor call to the budget, by default the time of a boundary', async () => {
    const { get, budget } = setUp([{}]);
    await get({ waitMs: 9_000 });
    await get();
    expect(budget.waits).toEqual([9_000, BOUNDARY_WAIT_MS]);
  });

  it('sends a vendor call with a body as JSON, and only once if it is not repeatable', async () => {
    const { calls, requests } = setUp([{ status: 500 }]);
    const request = { ...REQUEST, method: 'PUT', body: '{"name":"x"}', repeatable: false } as const;
    expect(await calls.call(CONTEXT, request, (json) => json)).toMatchObject({ kind: 'broken' });
    expect(requests).toMatchObject([
      { method: 'PUT', body: '{"name":"x"}', headers: { 'content-type': 'application/json' } },
    ]);
  });

  it('returns notNow without a request if the claim of a vendor call is false, and gives the permit back', async () => {
    const { get, budget, requests } = setUp([{}]);
    expect(await get({ claim: () => Promise.resolve(false) })).toMatchObject({
      kind: 'notNow',
      because: 'unclaimed',
    });
    expect([requests, budget.returned]).toEqual([[], 1]);
  });

  it('returns revoked without a request if the connection has ended while a vendor call waited for its permit, and gives the permit back', async () => {
    const { get, budget, tokens, requests } = setUp([{}]);
    tokens.hasEnded = true;
    const claim = jest.fn(() => Promise.resolve(true));
    expect(await get({ claim })).toMatchObject({ kind: 'revoked' });
    expect([requests, budget.returned]).toEqual([[], 1]);
    expect(claim).not.toHaveBeenCalled();
  });

  it('gives the permit of a vendor call back if nobody can say whether the connection has ended', async () => {
    const { get, budget, tokens, requests } = setUp([{}]);
    tokens.isConnected = () => Promise.reject(new Error('no database'));
    await expect(get()).rejects.toThrow('no database');
    expect([requests, budget.returned]).toEqual([[], 1]);
  });

  it('rejects with CallAborted if the caller’s signal aborts a vendor call', async () => {
    await expect(setUp([{}]).get({ signal: AbortSignal.abort() })).rejects.toBeInstanceOf(CallAborted);
  });

  it.each<[TokenAccess]>([
    [REVOKED],
    [{ kind: 'notNow', because: 'tokenUnavailable', retryAfterMs: 30_000, reason: 'Acme cannot be reached' }],
  ])('returns the token source’s outcome without a permit if there is no token: %j', async (access) => {
    const { get, tokens, budget } = setUp([{}]);
    tokens.first = access;
    expect(await get()).toEqual(access);
    expect(budget.calls).toEqual([]);
  });
});

describe('an answer of a vendor', () => {
  it.each<[string, Reply, object]>([
    ['404', { status: 404 }, { kind: 'gone' }],
    ['403 of an inactive app', { status: 403, body: 'inactive' }, { kind: 'notNow', because: 'appInactive' }],
    ['another 403', { status: 403 }, { kind: 'refused', status: 403 }],
    ['400', { status: 400 }, { kind: 'refused', status: 400 }],
    ['422', { status: 422 }, { kind: 'refused', status: 422 }],
    ['401 for a scope', { status: 401, body: 'scope' }, { kind: 'refused', status: 401 }],
    ['408', { status: 408 }, { kind: 'broken', because: 'outage' }],
    ['500', { status: 500 }, { kind: 'broken', because: 'outage' }],
    ['597', { status: 597, body: '<html>' }, { kind: 'broken', because: 'outage' }],
    ['302', { status: 302 }, { kind: 'broken', because: 'malformed' }],
    ['an empty body', { body: '' }, { kind: 'broken', because: 'malformed' }],
    ['truncated JSON', { body: '{"id":1,' }, { kind: 'broken', because: 'malformed' }],
    ['HTML', { body: '<html>', headers: { 'content-type': 'text/html' } }, { because: 'malformed' }],
    ['text/plain', { headers: { 'content-type': 'text/plain' } }, { because: 'malformed' }],
    ['no content type', { headers: { 'content-type': '' } }, { because: 'malformed' }],
    ['5,000 levels', { body: '['.repeat(5_000) + ']'.repeat(5_000) }, { because: 'malformed' }],
  ])('a vendor’s answer with %s is an outcome, without a token renewal', async (_, reply, outcome) => {
    const { get, tokens } = setUp([reply]);
    const failure = await get();
    expect(failure).toMatchObject(outcome);
    expect(tokens.rejections).toEqual([]);
    expect(failure.kind === 'ok' ? '' : failureCode(failure)).toMatch(/^VENDOR_[A-Z_]+$/);
  });

  it('gives a 204 to the parser as undefined, so that the parser decides whether it is an answer', async () => {
    const reply = { status: 204, body: '', headers: { 'content-type': '' } };
    expect(await setUp([reply]).get()).toEqual({ kind: 'ok', value: undefined });
  });

  it('the reason of a malformed answer names the invalid field without its value', async () => {
    const { calls } = setUp([{ body: { id: 'secret-of-an-athlete' } }]);
    const outcome = await calls.call(CONTEXT, REQUEST, (json) => z.object({ id: z.int() }).parse(json));
    expect(outcome).toMatchObject({ because: 'malformed', reason: expect.stringContaining('id: ') });
    expect(JSON.stringify(outcome)).not.toContain('secret');
  });

  it('the reason of an unreadable answer does not quote what the vendor sent', async () => {
    const { get } = setUp([{ body: 'secret-of-an-athlete' }]);
    expect(JSON.stringify(await get())).not.toContain('secret');
  });
});

describe('a 401 of a vendor', () => {
  it('repeats a vendor call once after a 401, with a renewed token and a second permit', async () => {
    const { get, budget, tokens, requests } = setUp([{ status: 401 }, { body: { id: 'a' } }]);
    expect(await get()).toEqual({ kind: 'ok', value: { id: 'a' } });
    expect(tokens.rejections).toEqual(['token 0']);
    expect(tokensOf(requests)).toEqual(['Bearer token 0', 'Bearer token 1']);
    expect(budget.settled.map((answer) => answer?.status)).toEqual([401, 200]);
  });

  it('returns revoked if the renewal after a 401 of a vendor is refused', async () => {
    const { get, tokens, requests } = setUp([{ status: 401 }]);
    tokens.revokesAt = 1;
    expect(await get()).toEqual(REVOKED);
    expect(requests).toHaveLength(1);
  });

  it('reports a renewed token that gets a 401 of a vendor too, and returns revoked if its renewal is refused', async () => {
    const { get, tokens, requests } = setUp([{ status: 401 }]);
    tokens.revokesAt = 2;
    expect(await get()).toEqual(REVOKED);
    expect([tokens.rejections, requests.length]).toEqual([['token 0', 'token 1'], 2]);
  });

  it('renews no further token in later calls of an endpoint whose renewed tokens get a 401 of a vendor', async () => {
    const { get, tokens, requests } = setUp([{ status: 401 }]);
    for (let call = 0; call < 4; call += 1)
      expect(await get()).toMatchObject({ kind: 'broken', because: 'outage' });
    expect(tokens.rejections).toEqual(['token 0', 'token 1']);
    const later = Array.from({ length: 3 }, () => 'Bearer token 2');
    expect(tokensOf(requests)).toEqual(['Bearer token 0', 'Bearer token 1', ...later]);
  });

  it('renews a token after a 401 of a vendor again, once a call at the endpoint has succeeded with it', async () => {
    const { get, tokens } = setUp([
      ...Array.from({ length: 2 }, () => ({ status: 401 })),
      {},
      { status: 401 },
    ]);
    await get();
    expect(await get()).toMatchObject({ kind: 'ok' });
    await get();
    expect(tokens.rejections).toEqual(['token 0', 'token 1', 'token 2', 'token 3']);
  });
});

describe('a limit of a vendor', () => {
  it('returns notNow with the end of our full window, without a request', async () => {
    const { get, budget, requests } = setUp([{}]);
    budget.instead = { kind: 'notNow', window: 'read day', retryAfterMs: 90_500 };
    expect(await get()).toEqual({
      kind: 'notNow',
      because: 'limit',
      retryAfterMs: 90_500,
      reason: 'No call to Acme is left (read day)',
    });
    expect(requests).toEqual([]);
  });

  it('returns notNow after one 429 of a vendor, with the end of the closed window', async () => {
    const { get, budget, requests } = setUp([{ status: 429, headers: { 'retry-after': '60' } }]);
    budget.closes = { kind: 'notNow', window: 'read minute', retryAfterMs: 42_000 };
    expect(await get()).toMatchObject({ kind: 'notNow', because: 'limit', retryAfterMs: 42_000 });
    expect([requests.length, budget.settled]).toMatchObject([
      1,
      [{ status: 429, headers: { 'retry-after': '60' } }],
    ]);
  });

  it('returns the length of the shortest window for a 429 of a vendor if the budget gives no end', async () => {
    expect(await setUp([{ status: 429 }]).get()).toMatchObject({ kind: 'notNow', retryAfterMs: 60_000 });
  });

  it('returns notNow without a request if the rate-limit state of a vendor is unavailable', async () => {
    const { get, budget, requests } = setUp([{}]);
    budget.instead = { kind: 'unavailable' };
    expect(await get()).toMatchObject({ kind: 'notNow', because: 'budgetUnavailable' });
    expect(requests).toEqual([]);
  });

  it.each([
    ['the budget is spent', { kind: 'notNow', window: 'read minute', retryAfterMs: 1 } as const],
    ['the vendor answers 429', undefined],
  ])('returns refused for a vendor whose policy is to fail at a limit, if %s', async (_, instead) => {
    const { get, budget } = setUp([{ status: 429 }], { limits: { ...VENDOR.limits, atLimit: 'fail' } });
    budget.instead = instead;
    expect(await get()).toMatchObject({ kind: 'refused', status: 429 });
  });
});

describe('pagedList', () => {
  const PAGING = { items: 'data', token: 'nextToken', next: 'next_token' };
  const list = (calls: VendorCalls) =>
    pagedList(calls, CONTEXT, { endpoint: 'sleep', path: '/sleep?limit=2' }, PAGING);

  it('returns the items of all pages of a vendor’s list', async () => {
    const { calls, requests } = setUp([
      { body: { data: [1, 2], next_token: 'a&b' } },
      { body: { data: [3], next_token: null } },
    ]);
    expect(await list(calls)).toEqual({ kind: 'ok', value: [1, 2, 3] });
    expect(requests.map(({ url }) => new URL(url).search)).toEqual(['?limit=2', '?limit=2&nextToken=a%26b']);
  });

  it.each<[string, Reply, object]>([
    ['a 404, which is not an empty list', { status: 404 }, { kind: 'broken', because: 'outage' }],
    ['a list without end', { body: { data: [], next_token: 'a' } }, { kind: 'broken', because: 'outage' }],
    ['an answer without items', { body: {} }, { kind: 'broken', because: 'malformed' }],
    ['a refusal', { status: 403 }, { kind: 'refused' }],
  ])('returns a failure for %s of a vendor', async (_, reply, outcome) => {
    expect(await list(setUp([reply]).calls)).toMatchObject(outcome);
  });
});
