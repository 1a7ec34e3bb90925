import { randomBytes, randomUUID } from 'node:crypto';
import { request as httpRequest } from 'node:http';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { tokenFor } from '../harness/environment.js';
import { assertDocumentedCode } from '../harness/error-codes.js';
import { eventually } from '../harness/eventually.js';
import { assertValidAnswer } from '../harness/openapi-document.js';
import { ProductProcess } from '../harness/process.js';
import { required } from '../harness/servers.js';
import { World } from '../harness/world.js';

const APP = 'https://app.example';
const UNKNOWN_ID = randomUUID();
const ENDED_WITHIN_MS = 5_000;

interface Sent {
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  readonly url?: string;
}

interface Received {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Record<string, unknown>;
}

interface Browser {
  readonly cookie: string;
  readonly csrf: string;
}

describe('the sessions of browsers', () => {
  const operator = randomUUID();
  const athlete = `runner-${randomUUID()}`;
  let world: World;
  let replica: ProductProcess;
  let address = 0;
  beforeAll(async () => {
    world = await World.start({ env: { TRUST_PROXY: '127.0.0.1', CORS_ORIGINS: APP } });
    replica = await ProductProcess.start('api', { ...world.env, PORT: '0' });
  });
  afterAll(async () => {
    await replica?.stop();
    await world?.stop();
  });

  /** Sends a request and checks the answer against the documents. */
  async function send(method: string, path: string, { headers, body, url }: Sent = {}): Promise<Received> {
    const type: Record<string, string> = body === undefined ? {} : { 'content-type': 'application/json' };
    const answer = await fetch(`${url ?? world.api.url}${path}`, {
      method,
      headers: { ...type, ...headers },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    const text = await answer.text();
    const read = text ? (JSON.parse(text) as Record<string, unknown>) : undefined;
    const { status } = answer;
    if (status >= 400 && method !== 'HEAD') assertDocumentedCode(`${method} ${path}`, read);
    if (method !== 'HEAD') assertValidAnswer({ method, path, status, body: read });
    return { status, headers: answer.headers, body: read ?? {} };
  }

  /** Each sign-in comes from another address, because an address has 60 tries a minute. */
  function post(body: unknown, { headers, ...more }: Sent = {}): Promise<Received> {
    address += 1;
    const from = { 'x-forwarded-for': `198.51.100.${address}` };
    return send('POST', '/v1/session', { ...more, body, headers: { ...from, ...headers } });
  }

  async function signIn(subject: string, claims: Record<string, unknown> = {}): Promise<Browser> {
    const { status, headers, body } = await post({ token: await tokenFor(subject, claims) });
    expect(status).toBe(201);
    return { cookie: cookieOf(headers), csrf: body['csrf_token'] as string };
  }
  const operatorSignsIn = () => signIn(operator, { role: 'admin' });
  const cookieOf = (headers: Headers) => headers.get('set-cookie')?.split(';')[0] ?? '';
  const read = ({ cookie }: Browser, path: string, more: Sent = {}) =>
    send('GET', path, { ...more, headers: { cookie, ...more.headers } });
  const write = ({ cookie, csrf }: Browser, method: string, path: string, more: Sent = {}) =>
    send(method, path, { ...more, headers: { cookie, 'x-csrf-token': csrf, ...more.headers } });
  const bearer = async (subject: string, claims: Record<string, unknown> = {}) => ({
    authorization: `Bearer ${await tokenFor(subject, claims)}`,
  });
  const newCode = async (headers: Record<string, string>) =>
    (await send('POST', '/v1/session/codes', { headers })).body['code'] as string;

  it('a sign-in with a token sets a cookie that no page can read, and answers the person and a CSRF token', async () => {
    const { status, headers, body } = await post({ token: await tokenFor(athlete, { name: 'Anna' }) });
    expect(status).toBe(201);
    const cookie = headers.get('set-cookie') ?? '';
    expect(cookie).toMatch(
      /^pacekeeper_session=[\w-]{43}; Path=\/; Max-Age=3\d{3}; HttpOnly; SameSite=Strict$/,
    );
    expect(headers.get('cache-control')).toBe('no-store');
    expect(headers.get('ratelimit-limit')).toBe('60');
    const me = await send('GET', '/v1/me', { headers: { cookie: cookieOf(headers) } });
    expect(me.body).toMatchObject({ athlete_id: body['athlete_id'], role: 'athlete' });
    expect(body).toEqual({
      role: 'athlete',
      athlete_id: expect.any(String),
      subject: athlete,
      account: `Anna (${athlete})`,
      expires_at: expect.any(String),
      csrf_token: expect.stringMatching(/^[\w-]{43}$/),
      vendors: [
        { provider: 'strava', title: 'Strava', records: ['activities'], has_history: true },
        { provider: 'oura', title: 'Oura', records: ['sleep'], has_history: true },
        { provider: 'whoop', title: 'WHOOP', records: ['sleep'], has_history: true },
        { provider: 'polar', title: 'Polar', records: ['activities', 'sleep'], has_history: false },
      ],
    });
    // The token is valid for an hour.
    const lastsMs = Date.parse(body['expires_at'] as string) - Date.now();
    expect(lastsMs).toBeLessThanOrEqual(3_601_000);
    expect((await send('GET', '/v1/session', { headers: { cookie: cookieOf(headers) } })).body).toEqual(body);
  });

  it('the cookie of a request over https is Secure', async () => {
    const { headers } = await post(
      { token: await tokenFor(athlete) },
      { headers: { 'x-forwarded-proto': 'https' } },
    );
    expect(headers.get('set-cookie')).toMatch(/; Secure$/);
  });

  it('an operator’s session opens /admin and names athletes, with a line in the audit log; an athlete’s session does not', async () => {
    const [admin, own] = [await operatorSignsIn(), await signIn(athlete)];
    expect((await read(admin, '/admin/keys')).status).toBe(200);
    expect((await read(own, '/admin/keys')).status).toBe(403);
    const { athlete_id: id } = (await read(own, '/v1/me')).body as { athlete_id: string };
    const named = { headers: { 'pacekeeper-athlete': id } };
    expect((await read(admin, '/v1/me', named)).body).toMatchObject({ athlete_id: id });
    expect((await read(own, '/v1/me', { headers: { 'pacekeeper-athlete': UNKNOWN_ID } })).body).toMatchObject(
      {
        athlete_id: id,
      },
    );
    await read(admin, '/v1/me', named);
    await read(admin, '/v1/sleep', named);
    const noted = await world.rows(
      "select detail from operator_action where actor = $1 and action = 'athlete.request' and target = $2 order by id",
      [operator, id],
    );
    // A console reads its pages again and again.
    expect(noted).toEqual(['/v1/me', '/v1/sleep'].map((route) => ({ detail: { method: 'GET', route } })));
    const listed = async (kind: string) => {
      const path = `/admin/audit?kind=${kind}&actor=${operator}`;
      return ((await read(admin, path)).body as { items: object[] }).items.length;
    };
    expect([await listed('action'), await listed('read')]).toEqual([0, 2]);
    // The header changes nothing: the session is that of the operator.
    expect((await read(admin, '/v1/session', named)).body).toMatchObject({
      subject: operator,
      role: 'admin',
    });
    expect((await read(admin, '/v1/athletes')).status).toBe(403);
  });

  it('a write of a session needs its CSRF token, also before a body is read; a GET, a HEAD and a bearer token do not', async () => {
    const [one, other] = [await signIn(athlete), await signIn(athlete)];
    const path = '/v1/connections/strava';
    for (const csrf of ['', 'x', other.csrf, `${one.csrf}x`, one.cookie.slice(-43)]) {
      const headers = { cookie: one.cookie, ...(csrf && { 'x-csrf-token': csrf }) };
      for (const [method, place, body] of [
        ['POST', path, {}],
        ['DELETE', '/v1/connections/strava', undefined],
        ['DELETE', '/v1/session', undefined],
        ['POST', '/v1/imports', 'x'.repeat(100_000)],
      ] as const) {
        const answer = await send(method, place, { headers, body });
        expect([method, place, answer.status, answer.body['code']]).toEqual([
          method,
          place,
          403,
          'CSRF_TOKEN_MISSING',
        ]);
        expect(answer.headers.get('ratelimit-limit')).toBe('600');
      }
    }
    expect((await write(one, 'POST', path, { body: {} })).status).toBe(201);
    expect((await send('HEAD', '/v1/me', { headers: { cookie: one.cookie } })).status).toBe(200);
    const both = { ...(await bearer(athlete)), cookie: one.cookie };
    expect((await send('POST', path, { headers: both, body: {} })).status).toBe(201);
  });

  it('a request with Authorization uses only that, whatever cookie it has', async () => {
    const { cookie } = await operatorSignsIn();
    for (const authorization of ['Bearer nonsense', 'Basic YTpi', '']) {
      const { status } = await send('GET', '/admin/keys', { headers: { cookie, authorization } });
      expect([authorization, status]).toEqual([authorization, 401]);
    }
    const asAthlete = { cookie, ...(await bearer(athlete)) };
    expect((await send('GET', '/admin/keys', { headers: asAthlete })).status).toBe(403);
    expect((await send('GET', '/v1/session', { headers: asAthlete })).status).toBe(401);
  });

  it('an unknown, malformed, doubled or huge cookie is answered with 401, and ignored by public routes', async () => {
    const { cookie } = await signIn(athlete);
    const cookies = [
      `pacekeeper_session=${randomBytes(32).toString('base64url')}`,
      'pacekeeper_session=',
      'pacekeeper_session',
      `pacekeeper_session="${cookie.slice(-43)}"`,
      `pacekeeper_session=${'%00'.repeat(20)}`,
      `pacekeeper_session=${'a'.repeat(8_000)}`,
      `__Host-${cookie}`,
      `${cookie}; ${cookie}`,
      `${cookie};pacekeeper_session=x`,
      ';;;=;=',
    ];
    for (const one of cookies) {
      for (const [method, body] of [['GET', undefined] as const, ['POST', {}] as const]) {
        const path = method === 'GET' ? '/v1/me' : '/v1/connections/strava';
        const { status } = await send(method, path, { headers: { cookie: one }, body });
        expect([one, status]).toEqual([one, 401]);
      }
      expect((await send('GET', '/version', { headers: { cookie: one } })).status).toBe(200);
    }
    const again = await post({ token: await tokenFor(athlete) }, { headers: { cookie: cookies[0] ?? '' } });
    expect(again.status).toBe(201);
    expect((await send('GET', '/v1/me', { headers: { cookie: `a=1; ${cookie}; b="2"` } })).status).toBe(200);
  });

  it('two Cookie headers with a session each are answered with 401', async () => {
    const [one, other] = [await signIn(athlete), await operatorSignsIn()];
    const { hostname, port } = new URL(world.api.url);
    const status = await new Promise<number | undefined>((resolve, reject) => {
      const headers = ['host', hostname, 'cookie', one.cookie, 'cookie', other.cookie];
      const sent = httpRequest({ hostname, port, path: '/v1/me', headers }, (response) => {
        response.resume();
        resolve(response.statusCode);
      });
      sent.on('error', reject).end();
    });
    expect(status).toBe(401);
  });

  it('a page of another origin cannot use the cookie: no answer allows credentials or the CSRF header', async () => {
    const { cookie } = await signIn(athlete);
    const cors = await send('GET', '/v1/me', { headers: { cookie, origin: APP } });
    expect(cors.headers.get('access-control-allow-origin')).toBe(APP);
    expect(cors.headers.get('access-control-allow-credentials')).toBeNull();
    const preflight = await send('OPTIONS', '/v1/session', {
      headers: {
        origin: APP,
        'access-control-request-method': 'DELETE',
        'access-control-request-headers': 'x-csrf-token',
      },
    });
    expect(preflight.headers.get('access-control-allow-credentials')).toBeNull();
    expect(preflight.headers.get('access-control-allow-headers')).not.toContain('x-csrf-token');
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data']) {
      const answer = await fetch(`${world.api.url}/v1/session`, {
        method: 'POST',
        headers: { 'content-type': type },
        body: JSON.stringify({ token: await tokenFor(athlete) }),
      });
      expect([type, answer.status, answer.headers.get('set-cookie')]).toEqual([type, 415, null]);
    }
  });

  it('after a sign-out the cookie is refused at once, by another replica within 5 s, and its event stream ends', async () => {
    const one = await signIn(athlete);
    const elsewhere = { url: replica.url };
    expect((await read(one, '/v1/me', elsewhere)).status).toBe(200);
    const stream = await fetch(`${replica.url}/v1/events`, { headers: { cookie: one.cookie } });
    expect(stream.status).toBe(200);
    const { status, headers } = await write(one, 'DELETE', '/v1/session');
    const endedAtMs = performance.now();
    expect(status).toBe(204);
    expect(headers.get('set-cookie')).toMatch(/^pacekeeper_session=; Path=\/; Max-Age=0; HttpOnly/);
    expect((await read(one, '/v1/me')).status).toBe(401);
    let lastAdmittedMs = 0;
    await eventually('the other replica refuses it', async () => {
      const sentMs = performance.now();
      if ((await read(one, '/v1/me', elsewhere)).status === 401) return true;
      lastAdmittedMs = sentMs;
      return undefined;
    });
    expect(lastAdmittedMs - endedAtMs).toBeLessThan(ENDED_WITHIN_MS);
    // The stream is checked before each change and at each heartbeat, every 15 s.
    await stream.text();
  });

  it('a session that has expired is refused within 5 s by a replica that remembered it', async () => {
    const one = await signIn(`expired-${athlete}`);
    await world.rows('update session set expires_at = now() where account = $1', [`expired-${athlete}`]);
    await eventually('the session is refused', async () => (await read(one, '/v1/me')).status === 401);
  });

  it('a code signs in once, as the person who made it, also if two replicas get it at the same time', async () => {
    const code = await newCode(await bearer(operator, { role: 'admin' }));
    const both = await Promise.all([post({ code }), post({ code }, { url: replica.url })]);
    expect(both.map(({ status }) => status).sort()).toEqual([201, 401]);
    const won = both.find(({ status }) => status === 201);
    expect(won?.body).toMatchObject({ role: 'admin', subject: operator });
    const lost = both.find(({ status }) => status === 401);
    expect(lost?.body['code']).toBe('SIGN_IN_CODE_INVALID');
    expect(lost?.headers.get('set-cookie')).toBeNull();
    expect((await read({ cookie: cookieOf(won!.headers), csrf: '' }, '/admin/keys')).status).toBe(200);
    for (const wrong of [code, 'x', randomBytes(32).toString('base64url'), "' or 1=1 --"])
      expect((await post({ code: wrong })).body['code']).toBe('SIGN_IN_CODE_INVALID');
  });

  it('an operator who names an athlete still makes a code of the operator', async () => {
    const { athlete_id: id } = (await send('GET', '/v1/me', { headers: await bearer(athlete) })).body as {
      athlete_id: string;
    };
    const named = { ...(await bearer(operator, { role: 'admin' })), 'pacekeeper-athlete': id };
    const { body } = await post({ code: await newCode(named) });
    expect(body).toMatchObject({ role: 'admin', subject: operator });
  });

  it('service keys and sessions make no codes, and service keys have no session', async () => {
    const key = await world.serviceKey('read', 'write', 'events', 'ingest');
    expect((await post({ token: key })).status).toBe(403);
    const own = await signIn(athlete);
    expect((await write(own, 'POST', '/v1/session/codes')).status).toBe(403);
    const headers = { authorization: `Bearer ${key}` };
    for (const [method, path] of [
      ['POST', '/v1/session/codes'],
      ['GET', '/v1/session'],
      ['DELETE', '/v1/session'],
    ] as const)
      expect([method, path, (await send(method, path, { headers })).status]).toEqual([method, path, 403]);
    for (const [method, path] of [
      ['POST', '/v1/session/codes'],
      ['GET', '/v1/session'],
    ] as const)
      expect((await send(method, path)).status).toBe(401);
  });

  it('a sign-in refuses a wrong or expired token with 401, and a malformed body with 400, 413 or 415', async () => {
    const forged = await tokenFor(athlete, { role: 'admin' }, 'another-secret-of-at-least-32-characters');
    for (const token of ['x', forged, `${await tokenFor(athlete)}x`, 'Bearer x', ' '])
      expect([token, (await post({ token })).status]).toEqual([token, 401]);
    const code = randomBytes(32).toString('base64url');
    for (const body of [
      {},
      { token: '' },
      { code: 7 },
      { token: 'x', code },
      [],
      { token: 'x', role: 'admin' },
    ])
      expect([body, (await post(body)).status]).toEqual([body, 400]);
    expect((await post({ token: 'x'.repeat(40_000) })).status).toBe(413);
  });

  it('an address has 60 sign-ins a minute, and Redis does not learn the address', async () => {
    const from = (ip: string) => ({ 'x-forwarded-for': ip });
    const tries = (ip: string) => send('POST', '/v1/session', { headers: from(ip), body: { code: 'wrong' } });
    const answers = await Promise.all(Array.from({ length: 140 }, () => tries('203.0.113.77')));
    const refused = answers.filter(({ status }) => status === 429);
    // A minute may end meanwhile, and begins a new count.
    expect(refused.length).toBeGreaterThanOrEqual(20);
    expect(refused[0]?.headers.get('retry-after')).toMatch(/^\d+$/);
    expect((await tries('203.0.113.78')).status).toBe(401);
    const redis = new Redis(required('REDIS_URL'));
    const keys = await redis.keys(`${world.env.REDIS_KEY_PREFIX}throttle:*`);
    redis.disconnect();
    expect(keys.some((key) => key.includes('throttle:network:'))).toBe(true);
    expect(keys.filter((key) => key.includes('203.0.113'))).toEqual([]);
  });

  it('the sessions and codes of a person end with their account', async () => {
    const leaver = `leaver-${randomUUID()}`;
    const one = await signIn(leaver);
    const code = await newCode(await bearer(leaver));
    expect((await write(one, 'DELETE', '/v1/account')).status).toBe(202);
    await eventually(
      'the session is refused',
      async () => (await read(one, '/v1/me')).status === 401,
      60_000,
    );
    expect((await post({ code })).body['code']).toBe('SIGN_IN_CODE_INVALID');
    expect(await world.rows('select 1 from athlete where subject = $1', [leaver])).toEqual([]);
  });
});
