import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { SignJWT, UnsecuredJWT } from 'jose';
import pg from 'pg';
import request from 'supertest';
import { JWT_SECRET, testEnvironment, tokenFor, type TestEnvironment } from '../harness/environment.js';
import { errorBody } from '../harness/error-body.js';
import { ProductProcess } from '../harness/process.js';

const ATHLETE = '0b1d2c3e-4f50-4a61-8b72-93a4b5c6d7e8';
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

interface Operation {
  readonly security?: readonly object[];
  readonly requestBody?: object;
}
const { paths } = JSON.parse(readFileSync('docs/openapi.json', 'utf8')) as {
  paths: Record<string, Record<string, Operation>>;
};
/** `POST /v1/imports` and all other routes that take a body and need credentials. */
const GUARDED_WITH_A_BODY = Object.entries(paths).flatMap(([path, operations]) =>
  Object.entries(operations)
    .filter(([, { security = [], requestBody }]) => security.length > 0 && requestBody !== undefined)
    .map(([method]) => `${method.toUpperCase()} ${path.replace(/\{\w+\}/g, ATHLETE)}`),
);

const JSON_TYPE = { 'content-type': 'application/json' };

describe('the api', () => {
  let environment: TestEnvironment;
  let api: ProductProcess;
  let token: string;
  beforeAll(async () => {
    environment = await testEnvironment();
    api = await ProductProcess.start('api', { ...environment.env, LOG_LEVEL: 'debug' });
    token = await tokenFor(ATHLETE);
  });
  afterAll(async () => {
    await api?.stop();
    await environment?.release();
  });

  const bearer = () => `Bearer ${token}`;

  it('GET /v1/me answers with the athlete and the role of the token', async () => {
    const { body } = await request(api.url).get('/v1/me').set('authorization', bearer()).expect(200);
    expect(body).toMatchObject({ athlete_id: ATHLETE, role: 'athlete' });
  });

  const tokens: ReadonlyArray<readonly [string, () => Promise<string | undefined> | string]> = [
    ['missing', () => Promise.resolve(undefined)],
    ['of another scheme', () => 'Basic YTpi'],
    ['empty', () => 'Bearer '],
    ['garbage', () => 'Bearer a.b.c'],
    ['forged', async () => `Bearer ${await tokenFor(ATHLETE, {}, JWT_SECRET.replace('a', 'b'))}`],
    ['alg:none', () => `Bearer ${new UnsecuredJWT({ sub: ATHLETE, role: 'admin', exp: 4e9 }).encode()}`],
    ['expired', async () => `Bearer ${await expired()}`],
  ];
  it.each(tokens)('the api answers 401 to a token that is %s', async (_, header) => {
    const value = await header();
    const unsigned = request(api.url).get('/v1/me');
    const answer = await (value === undefined ? unsigned : unsigned.set('authorization', value));
    expectError(answer, 401);
    expect(answer.headers['www-authenticate']).toBe('Bearer');
  });

  // Requests that any client may send. Each answer must be a 4xx in the usual shape of an error.
  const strange: ReadonlyArray<
    readonly [string, string, string, Record<string, string>, string | undefined, number]
  > = [
    ['an unknown route', 'GET', '/v1/nothing', {}, undefined, 404],
    ['the YAML that Swagger UI would make', 'GET', '/docs-yaml', {}, undefined, 404],
    ['the JSON that Swagger UI would make', 'GET', '/docs-json', {}, undefined, 404],
    ['an unknown method', 'DELETE', '/v1/me', {}, undefined, 405],
    ['a method that HTTP has and the api does not', 'TRACE', '/v1/me', {}, undefined, 404],
    ['GET of a route that has only POST', 'GET', '/v1/jobs/x/cancel', {}, undefined, 405],
    ['an encoded path outside of the routes', 'GET', '/%61dmin', {}, undefined, 404],
    ['a doubled slash', 'GET', '//v1/me', {}, undefined, 404],
    ['a trailing slash', 'GET', '/v1/me/', {}, undefined, 404],
    ['a path parameter', 'GET', '/v1/me;admin=1', {}, undefined, 404],
    ['dots in a path', 'GET', '/v1/../v1/me', {}, undefined, 404],
    ['encoded dots in a path', 'GET', '/docs/%2e%2e/%2e%2e/package.json', {}, undefined, 403],
    ['an encoded path of a route, without a token', 'GET', '/v1/%6de', {}, undefined, 401],
    ['a path that cannot be decoded', 'GET', '/v1/%zz', {}, undefined, 400],
    ['malformed JSON, without a signature', 'POST', '/webhooks/oura', JSON_TYPE, '{"a":', 401],
    ['malformed JSON, without a token', 'POST', '/v1/imports', JSON_TYPE, '{"a":', 401],
    ['__proto__ in JSON, without a token', 'POST', '/v1/imports', JSON_TYPE, '{"a":1,"__proto__":1}', 401],
    ['malformed JSON, without a key', 'POST', '/api/v1/ingest/sleep', JSON_TYPE, '{"a":', 401],
    ['malformed JSON by a method that the route does not have', 'POST', '/v1/me', JSON_TYPE, '{"a":', 405],
    [
      'a body that is too large',
      'POST',
      '/webhooks/oura',
      JSON_TYPE,
      JSON.stringify('x'.repeat(65_536)),
      413,
    ],
    [
      'a body that is too large, without a token',
      'POST',
      '/v1/imports',
      JSON_TYPE,
      `"${'x'.repeat(2_000_000)}"`,
      401,
    ],
    ['a compressed body', 'POST', '/webhooks/oura', { ...JSON_TYPE, 'content-encoding': 'gzip' }, '{}', 415],
    [
      'a body in UTF-16',
      'POST',
      '/webhooks/oura',
      { 'content-type': 'application/json; charset=utf-16' },
      '{}',
      415,
    ],
  ];
  it.each(strange)(
    'the api answers %s with an error of the usual shape and no stack',
    async (_, method, path, headers, body, status) => {
      const raw = await rawRequest(api.url, method, path, headers, body);
      expect(raw.status).toBe(status);
      expect(raw.body).toEqual(errorBody({ details: [], request_id: raw.headers['x-request-id'] }));
      expect(raw.headers['x-content-type-options']).toBe('nosniff');
      expect(raw.text).not.toMatch(/node_modules|\.js:|at .*\(/);
    },
  );

  it('the api answers 400 to __proto__ in JSON and names the place of __proto__', async () => {
    const headers = { ...JSON_TYPE, authorization: bearer() };
    const raw = await rawRequest(api.url, 'POST', '/v1/imports', headers, '{"a":{"__proto__":{"b":1}}}');
    expect(raw.status).toBe(400);
    expect(raw.body).toMatchObject({ error: 'Validation failed', details: ['a.__proto__: Not allowed'] });
  });

  it.each([
    ['bytes that are not HTTP', 'NONSENSE\r\n\r\n', 400, 'Malformed request'],
    [
      'a request without Host',
      'GET /health/live HTTP/1.1\r\nConnection: close\r\n\r\n',
      400,
      'Malformed request',
    ],
    [
      'headers that are too large',
      `GET / HTTP/1.1\r\nHost: x\r\nX-Long: ${'y'.repeat(40_000)}\r\n\r\n`,
      431,
      'Request headers are too large',
    ],
    [
      'an unknown Expect header',
      'POST /v1/me HTTP/1.1\r\nHost: x\r\nExpect: a-miracle\r\nContent-Length: 2\r\n\r\n{}',
      417,
      'Only 100-continue can be expected',
    ],
  ])(
    'the api answers %s with an error of the usual shape, although the request reaches no route',
    async (_, bytes, status, error) => {
      const answer = await rawBytes(api.url, bytes);
      const [head = '', body = ''] = answer.split('\r\n\r\n');
      const [, id] = /^x-request-id: (.+)$/im.exec(head) ?? [];
      expect(Number(head.slice(9, 12))).toBe(status);
      expect(id).toMatch(UUID);
      expect(head).toMatch(/^x-content-type-options: nosniff$/im);
      expect(JSON.parse(body)).toEqual(errorBody({ error, details: [], request_id: id }));
    },
  );

  it('a page of any origin may read an error whose path is unknown, since such an error has no data', async () => {
    const undecodable = await rawRequest(api.url, 'GET', '/v1/%zz', { origin: 'https://app.example' });
    expect(undecodable.headers['access-control-allow-origin']).toBe('*');
    expect(await rawBytes(api.url, 'NONSENSE\r\n\r\n')).toMatch(/^access-control-allow-origin: \*\r$/im);
  });

  it('the api accepts HTTP/1.0 without Host, and Expect: 100-continue', async () => {
    expect(await rawBytes(api.url, 'GET /health/live HTTP/1.0\r\n\r\n')).toMatch(/^HTTP\/1\.1 200 /);
    const polite =
      'POST /nothing HTTP/1.1\r\nHost: x\r\nConnection: close\r\nExpect: 100-continue\r\nContent-Length: 0\r\n\r\n';
    expect(await rawBytes(api.url, polite)).toMatch(/^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 404 /);
  });

  it('/openapi.json lists the errors of tokens, keys and limits for GET /v1/me, and no 429 for /health/live', async () => {
    const { body } = await request(api.url).get('/openapi.json').expect(200);
    const { responses } = body.paths['/v1/me'].get;
    expect(Object.keys(responses)).toEqual([...['200', '400', '401', '403', '404', '429', '503', 'default']]);
    expect(body.paths['/health/live'].get.responses['429']).toBeUndefined();
  });

  it.each(
    GUARDED_WITH_A_BODY.flatMap((route) =>
      ['', '{"type":"full","since":"'].map((start) => [route, start] as const),
    ),
  )(
    'the api answers 401 to %s without credentials before its body has arrived (sent so far: %j)',
    async (route, start) => {
      // The client sends nothing more. If the api waited for the body, it would never answer.
      const head = `${route} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 900000\r\n`;
      expect(await rawBytes(api.url, `${head}Content-Type: application/json\r\n\r\n${start}`)).toMatch(
        /^HTTP\/1\.1 401 /,
      );
    },
  );

  // These routes have a larger limit: nights, lists of dead letters, tokens and events of vendors.
  const TAKES_MORE =
    /^POST (\/api\/v1\/ingest\/sleep|\/admin\/dlq\/(replay|discard)|\/v1\/session|\/webhooks\/.*)$/;

  it('every route without a larger limit answers 413 to a body of more than 64 KB, even if it takes no body', async () => {
    const { routes } = (await api.line(({ msg }) => msg === 'routes')) as unknown as { routes: string[] };
    const operator = `Bearer ${await tokenFor(ATHLETE, { role: 'admin' })}`;
    const { body: made } = await request(api.url)
      .post('/admin/keys')
      .set('authorization', operator)
      .send({ name: 'bodies', scopes: ['read', 'write', 'events'] });
    const service = `Bearer ${made.key}`;
    const taken: string[] = [];
    for (const route of routes.filter(
      (one) => /^(POST|PUT|PATCH|DELETE) /.test(one) && !TAKES_MORE.test(one),
    )) {
      const [method = '', pattern = ''] = route.split(' ');
      const path = pattern.replace(/:\w+/g, ATHLETE).replace('*', 'x');
      for (const authorization of [bearer(), operator, service]) {
        const headers = { ...JSON_TYPE, authorization };
        const { status } = await rawRequest(
          api.url,
          method,
          path,
          headers,
          JSON.stringify('x'.repeat(65_536)),
        );
        // 401 and 403: the route needs another caller.
        if (![401, 403, 405, 413].includes(status)) taken.push(`${route}: ${status}`);
      }
    }
    expect(taken).toEqual([]);
  });

  it.each([
    ['/v1/activities?sport_type=%00', 'sport_type'],
    ['/v1/activities?cursor=a%00b', 'cursor'],
    ['/v1/sleep?from=2025-01-01&cursor=%00', 'cursor'],
    ['/v1/activities/%00', 'id'],
    ['/v1/receipts/%00', 'id'],
    ['/oauth/strava/callback?state=%00', 'state'],
    ['/webhooks/strava/%00', 'secret'],
  ])('the api answers 400 to NUL in %s and names the field', async (path, field) => {
    const answer = await request(api.url).get(path).set('authorization', bearer());
    expectError(answer, 400);
    expect(answer.body.details).toEqual([`${field}: must not contain NUL or half a surrogate pair`]);
  });

  it.each([
    ['/admin/dlq/replay', 'reason'],
    ['/admin/dlq/replay', 'subject'],
    ['/admin/dlq/discard', 'reason'],
    ['/v1/imports', 'type'],
    ['/v1/imports', 'since'],
    ['/v1/connections/strava', 'return_url'],
    ['/v1/connections/strava/confirm', 'confirm'],
    ['/admin/keys', 'name'],
    ['/v1/athletes', 'subject'],
  ])('answers 4xx to a body of %s whose %s has a NUL or half a surrogate pair', async (path, field) => {
    const operator = await tokenFor(ATHLETE, { role: 'admin' });
    for (const text of ['a\0b', '\ud800', 'a\udc00'])
      for (const authorization of [bearer(), `Bearer ${operator}`]) {
        const asked = request(api.url)
          .post(path)
          .set({ ...JSON_TYPE, authorization });
        const { status } = await asked.send(JSON.stringify({ [field]: text }));
        expect([400, 403, 404]).toContain(status);
      }
  });

  it.each([
    ['from=yesterday', 'from: must be an ISO 8601 date-time'],
    ['to=1', 'to: must be an ISO 8601 date-time'],
    ['from=2024-02-30T99:00:00Z', 'from: must be an ISO 8601 date-time'],
    ['from=2024-02-30', 'from: must be an ISO 8601 date-time'],
    ['from=1066-10-14', 'from: must be between the years 1900 and 2200'],
  ])('GET /v1/activities?%s answers 400 with one line that names the problem', async (query, line) => {
    const answer = await request(api.url).get(`/v1/activities?${query}`).set('authorization', bearer());
    expectError(answer, 400);
    expect(answer.body.details).toEqual([line]);
  });

  it('the api answers 405 with Allow to a method that a known path does not have', async () => {
    const wrong = async (method: 'put' | 'get' | 'options', path: string) => {
      const answer = await request(api.url)[method](path);
      expectError(answer, 405);
      return answer.headers.allow;
    };
    expect(await wrong('put', '/v1/activities')).toBe('GET, HEAD');
    expect(await wrong('options', '/v1/imports')).toContain('POST');
    expect(await wrong('get', '/v1/activities/latest/process')).toBe('POST');
    expect(await wrong('put', `/v1/imports/${ATHLETE}`)).toBe('GET, HEAD, DELETE');
    expect(await wrong('put', '/')).toBe('GET, HEAD');
  });

  it.each(['/health/live', '/openapi.json', '/v1/me', '/v1/activities', '/addon/manifest.json', '/docs'])(
    'the api answers HEAD of %s like GET, without the body',
    async (path) => {
      const send = (method: 'get' | 'head') => request(api.url)[method](path).set('authorization', bearer());
      const [got, head] = [await send('get'), await send('head')];
      expect([head.status, head.text]).toEqual([got.status, undefined]);
      for (const name of ['content-type', 'content-length', 'etag'])
        expect(head.headers[name]).toBe(got.headers[name]);
    },
  );

  it('GET / redirects to /docs', async () => {
    const answer = await request(api.url).get('/').redirects(0).expect(302);
    expect(answer.headers.location).toBe('/docs');
  });

  it('every answer to a request with a token has RateLimit headers, even an error', async () => {
    const authorization = `Bearer ${await tokenFor('counts')}`;
    const left: number[] = [];
    const gzip = { 'content-encoding': 'gzip' };
    for (const [path, status, body, more] of [
      ['/v1/me', 200],
      ['/v1/activities', 200],
      [`/v1/activities/${ATHLETE}`, 404],
      ['/v1/activities?limit=x', 400],
      ['/v1/imports', 400, '{'],
      ['/v1/imports', 413, JSON.stringify('x'.repeat(65_536))],
      ['/v1/imports', 415, '{}', gzip],
      ['/v1/imports', 415, '{}', { 'content-type': 'text/plain' }],
      ['/admin/keys', 403],
      ['/admin/keys', 403, '{'],
      ['/v1/athletes', 403],
    ] as ReadonlyArray<readonly [string, number, string?, object?]>) {
      const sent = { ...JSON_TYPE, authorization, ...more };
      const answer = await rawRequest(api.url, body === undefined ? 'GET' : 'POST', path, sent, body);
      expect(answer.status).toBe(status);
      const { headers } = answer;
      expect(headers['ratelimit-limit']).toBe('600');
      expect(Number(headers['ratelimit-reset'])).toBeGreaterThan(0);
      expect(Number(headers['ratelimit-reset'])).toBeLessThanOrEqual(60);
      left.push(Number(headers['ratelimit-remaining']));
    }
    // The count falls by one with each request, except when a new minute begins.
    expect(left.filter((count, index) => index > 0 && count !== left[index - 1]! - 1).length).toBeLessThan(2);
  });

  it('every answer to a service key has RateLimit headers, even a 403 for a missing scope', async () => {
    const { body: made } = await request(api.url)
      .post('/admin/keys')
      .set('authorization', `Bearer ${await tokenFor(ATHLETE, { role: 'admin' })}`)
      .send({ name: 'counts', scopes: ['read'] });
    const sent = { ...JSON_TYPE, authorization: `Bearer ${made.key}` };
    const left: number[] = [];
    for (const [path, status, body] of [
      ['/v1/athletes', 200],
      ['/v1/changes', 403],
      ['/v1/athletes', 403, '{'],
      ['/admin/keys', 403],
      ['/v1/session', 403],
    ] as ReadonlyArray<readonly [string, number, string?]>) {
      const answer = await rawRequest(api.url, body === undefined ? 'GET' : 'POST', path, sent, body);
      expect([path, answer.status, answer.headers['ratelimit-limit']]).toEqual([path, status, '6000']);
      left.push(Number(answer.headers['ratelimit-remaining']));
    }
    // As above: a new minute begins a new count.
    expect(left.filter((count, index) => index > 0 && count !== left[index - 1]! - 1).length).toBeLessThan(2);
  });

  it('without CORS_ORIGINS no page of another origin may read an answer', async () => {
    const { headers } = await request(api.url)
      .get('/v1/me')
      .set({ authorization: bearer(), origin: 'https://app.example' });
    expect(headers['access-control-allow-origin']).toBeUndefined();
    expect(headers['cross-origin-resource-policy']).toBe('same-origin');
  });

  it('the api keeps the x-request-id of a caller and replaces a malformed one', async () => {
    const id = async (given: string) =>
      (await request(api.url).get('/nothing').set('x-request-id', given)).body.request_id as string;
    expect(await id('trace-17')).toBe('trace-17');
    expect(await id('a b"; drop')).toMatch(UUID);
  });

  it('the api sends Content-Security-Policy and nosniff, and no X-Powered-By', async () => {
    const { headers } = await request(api.url).get('/health/live');
    expect(headers['content-security-policy']).toContain("default-src 'self'");
    expect(headers['x-content-type-options']).toBe('nosniff');
    expect(headers['x-powered-by']).toBeUndefined();
  });

  it('the api lets no cache keep an answer to a token or to a session', async () => {
    for (const path of ['/v1/me', '/v1/activities', '/v1/sleep']) {
      const { headers } = await request(api.url).get(path).set('authorization', bearer()).expect(200);
      expect([path, headers['cache-control']]).toEqual([path, 'no-store']);
    }
  });

  it.each(['/health/live', '/health/ready', '/metrics', '/docs', '/openapi.json'])(
    'the api serves %s without a token',
    async (path) => {
      await request(api.url).get(path).expect(200);
    },
  );

  it('the api stores an athlete with issuer and subject at their first request', async () => {
    const subject = 'auth0|first-call';
    const stranger = await tokenFor(subject, { iss: 'https://id.example' });
    const me = await request(api.url).get('/v1/me').set('authorization', `Bearer ${stranger}`).expect(200);
    const client = new pg.Client({ connectionString: environment.env.DATABASE_URL });
    await client.connect();
    const { rows } = await client.query('select issuer, subject from athlete where id = $1', [
      me.body.athlete_id,
    ]);
    await client.end();
    expect(rows).toEqual([{ issuer: 'https://id.example', subject }]);
  });

  it('the api answers 429 with Retry-After to an athlete with too many requests, and 200 to another', async () => {
    const busy = `Bearer ${await tokenFor('busy')}`;
    const send = () => request(api.url).get('/v1/me').set('authorization', busy);
    const head = `POST /v1/imports HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: ${busy}\r\n`;
    const { first, other, elsewhere, unread } = await withinOneMinute(async () => {
      const answers: request.Response[] = [];
      const refused = () => answers.find(({ status }) => status === 429);
      // The number of requests exceeds the limits of two minutes (2 × 600). So the test exceeds a limit even if a minute ends meanwhile.
      // If Redis answers too late on a busy machine, the throttle lets all requests through for 5 s. So the test goes on for 15 s.
      const endsAt = performance.now() + 15_000;
      for (let round = 0; !refused() && (round < 13 || performance.now() < endsAt); round += 1)
        answers.push(...(await Promise.all(Array.from({ length: 100 }, async () => send()))));
      expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200, 429]));
      return {
        first: refused() as request.Response,
        other: await request(api.url).get('/v1/me').set('authorization', bearer()),
        elsewhere: await request(api.url).get('/admin/keys').set('authorization', busy),
        // The client sends no byte of the body. If the api waited for the body, it would never answer.
        unread: await rawBytes(
          api.url,
          `${head}Content-Type: application/json\r\nContent-Length: 900\r\n\r\n`,
        ),
      };
    });
    expectError(first, 429);
    expect(Number(first.headers['retry-after'])).toBeGreaterThan(0);
    expect(other.status).toBe(200);
    expectError(elsewhere, 429);
    expect(unread).toMatch(/^HTTP\/1\.1 429 /);
  });
});

/** Repeats the work until no minute of the clock has begun meanwhile. The throttle counts anew in each minute. */
async function withinOneMinute<T>(work: () => Promise<T>): Promise<T> {
  const minute = () => Math.floor(Date.now() / 60_000);
  for (;;) {
    const begunIn = minute();
    const done = await work();
    if (minute() === begunIn) return done;
  }
}

async function expired(): Promise<string> {
  return new SignJWT({ sub: ATHLETE })
    .setProtectedHeader({ alg: 'HS256' })
    .setExpirationTime('-10m')
    .sign(new TextEncoder().encode(JWT_SECRET));
}

function expectError(answer: request.Response, status: number): void {
  expect(answer.status).toBe(status);
  expect(answer.body).toEqual(errorBody());
  expect(answer.headers['content-type']).toContain('application/json');
  expect(answer.headers['x-request-id']).toBe(answer.body.request_id);
}

/** Sends the path as it is; a client library would normalise it. */
async function rawRequest(
  base: string,
  method: string,
  path: string,
  headers: Record<string, string>,
  body?: string,
) {
  const lines = Object.entries({ host: 'x', connection: 'close', ...headers }).map(
    ([name, value]) => `${name}: ${value}`,
  );
  if (body !== undefined) lines.push(`content-length: ${Buffer.byteLength(body)}`);
  const answer = await rawBytes(
    base,
    `${method} ${path} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n${body ?? ''}`,
  );
  const [head = ''] = answer.split('\r\n\r\n', 1);
  const text = answer.slice(head.length + 4);
  const fields = head
    .split('\r\n')
    .slice(1)
    .map((line) => line.split(': ', 2) as [string, string]);
  const answered = Object.fromEntries(fields.map(([name, value]) => [name.toLowerCase(), value]));
  return { status: Number(answer.slice(9, 12)), headers: answered, text, body: JSON.parse(text) as unknown };
}

function rawBytes(base: string, bytes: string): Promise<string> {
  const { hostname, port } = new URL(base);
  return new Promise((resolve) => {
    let answer = '';
    const socket = connect(Number(port), hostname, () => socket.write(bytes));
    socket.on('data', (chunk: Buffer) => (answer += chunk.toString()));
    // A server may reset the connection after it has answered an oversized body.
    socket.on('error', () => resolve(answer));
    socket.on('close', () => resolve(answer));
  });
}
