import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { SignJWT, UnsecuredJWT } from 'jose';
import pg from 'pg';
import request from 'supertest';
import { JWT_SECRET, testEnvironment, tokenFor, type TestEnvironment } from '../harness/environment.js';
import { ProductProcess } from '../harness/process.js';

const ATHLETE = '0b1d2c3e-4f50-4a61-8b72-93a4b5c6d7e8';
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

describe('the api', () => {
  let environment: TestEnvironment;
  let api: ProductProcess;
  let token: string;
  beforeAll(async () => {
    environment = await testEnvironment();
    api = await ProductProcess.start('api', environment.env);
    token = await tokenFor(ATHLETE);
  });
  afterAll(async () => {
    await api.stop();
    await environment.release();
  });

  const bearer = () => `Bearer ${token}`;

  it('tells an athlete whom its token speaks for', async () => {
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
  it.each(tokens)('answers 401 to a token that is %s', async (_, header) => {
    const value = await header();
    const asked = request(api.url).get('/v1/me');
    const answer = await (value === undefined ? asked : asked.set('authorization', value));
    expectError(answer, 401);
    expect(answer.headers['www-authenticate']).toBe('Bearer');
  });

  // One table for whatever a stranger may send. No answer may be a 2xx, a 5xx or of another shape.
  const strange: ReadonlyArray<
    readonly [string, string, string, Record<string, string>, string | undefined, number]
  > = [
    ['an unknown route', 'GET', '/v1/nothing', {}, undefined, 404],
    ['an unknown method', 'DELETE', '/v1/me', {}, undefined, 404],
    ['an encoded path that is no route', 'GET', '/%61dmin', {}, undefined, 404],
    ['a doubled slash', 'GET', '//v1/me', {}, undefined, 404],
    ['a trailing slash', 'GET', '/v1/me/', {}, undefined, 404],
    ['a path parameter', 'GET', '/v1/me;admin=1', {}, undefined, 404],
    ['dots', 'GET', '/v1/../v1/me', {}, undefined, 404],
    ['encoded dots', 'GET', '/docs/%2e%2e/%2e%2e/package.json', {}, undefined, 403],
    ['a route encoded, without a token', 'GET', '/v1/%6de', {}, undefined, 401],
    ['a path that cannot be decoded', 'GET', '/v1/%zz', {}, undefined, 400],
    ['malformed JSON', 'POST', '/v1/me', { 'content-type': 'application/json' }, '{"a":', 400],
    [
      'more than a megabyte',
      'POST',
      '/v1/me',
      { 'content-type': 'application/json' },
      JSON.stringify('x'.repeat(1024 * 1024)),
      413,
    ],
  ];
  it.each(strange)('answers %s in the shape of an error', async (_, method, path, headers, body, status) => {
    const raw = await rawRequest(api.url, method, path, headers, body);
    expect(raw.status).toBe(status);
    expect(raw.body).toEqual({ error: expect.any(String), details: [], request_id: expect.any(String) });
    expect(raw.text).not.toMatch(/node_modules|\.js:|at .*\(/);
  });

  it('answers a prototype in JSON in the shape of an error, and says where it is', async () => {
    const headers = { 'content-type': 'application/json' };
    const raw = await rawRequest(api.url, 'POST', '/v1/me', headers, '{"a":{"__proto__":{"b":1}}}');
    expect(raw.status).toBe(400);
    expect(raw.body).toMatchObject({ error: 'Validation failed', details: ['a.__proto__: Not allowed'] });
  });

  it.each([
    ['what is not HTTP', 'NONSENSE\r\n\r\n', 400, 'Malformed request'],
    ['no Host', 'GET /health/live HTTP/1.1\r\nConnection: close\r\n\r\n', 400, 'Malformed request'],
    [
      'headers too large',
      `GET / HTTP/1.1\r\nHost: x\r\nX-Long: ${'y'.repeat(40_000)}\r\n\r\n`,
      431,
      'Request headers are too large',
    ],
    [
      'an expectation that nobody knows',
      'POST /v1/me HTTP/1.1\r\nHost: x\r\nExpect: a-miracle\r\nContent-Length: 2\r\n\r\n{}',
      417,
      'Only 100-continue can be expected',
    ],
  ])('answers %s, which no route sees, like everything else', async (_, bytes, status, error) => {
    const answer = await rawBytes(api.url, bytes);
    const [head = '', body = ''] = answer.split('\r\n\r\n');
    const [, id] = /^x-request-id: (.+)$/im.exec(head) ?? [];
    expect(Number(head.slice(9, 12))).toBe(status);
    expect(id).toMatch(UUID);
    expect(head).toMatch(/^x-content-type-options: nosniff$/im);
    expect(JSON.parse(body)).toEqual({ error, details: [], request_id: id });
  });

  it('takes HTTP/1.0, which knows no Host, and the one expectation there is', async () => {
    expect(await rawBytes(api.url, 'GET /health/live HTTP/1.0\r\n\r\n')).toMatch(/^HTTP\/1\.1 200 /);
    const polite =
      'POST /nothing HTTP/1.1\r\nHost: x\r\nConnection: close\r\nExpect: 100-continue\r\nContent-Length: 0\r\n\r\n';
    expect(await rawBytes(api.url, polite)).toMatch(/^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 404 /);
  });

  it('documents what every route behind the token may answer', async () => {
    const { body } = await request(api.url).get('/openapi.json').expect(200);
    const { responses } = body.paths['/v1/me'].get;
    expect(Object.keys(responses)).toEqual(['200', '401', '429', '503']);
    expect(body.paths['/health/live'].get.responses['429']).toBeUndefined();
  });

  it('keeps the id a caller gives to a request and replaces an odd one', async () => {
    const id = async (given: string) =>
      (await request(api.url).get('/nothing').set('x-request-id', given)).body.request_id as string;
    expect(await id('trace-17')).toBe('trace-17');
    expect(await id('a b"; drop')).toMatch(UUID);
  });

  it('sends the headers that a browser needs to be safe', async () => {
    const { headers } = await request(api.url).get('/health/live');
    expect(headers['content-security-policy']).toContain("default-src 'self'");
    expect(headers['x-content-type-options']).toBe('nosniff');
    expect(headers['x-powered-by']).toBeUndefined();
  });

  it.each(['/health/live', '/health/ready', '/metrics', '/docs', '/openapi.json'])(
    'serves %s to anyone',
    async (path) => {
      await request(api.url).get(path).expect(200);
    },
  );

  it('makes the athlete at its first call, under issuer and subject', async () => {
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

  it('answers 429 with the time to come back to whoever asks too often, and to nobody else', async () => {
    const busy = `Bearer ${await tokenFor('busy')}`;
    const ask = () => request(api.url).get('/v1/me').set('authorization', busy);
    const statuses: number[] = [];
    // Two minutes' allowance and one more: however the minute falls, one of them is exceeded.
    for (let round = 0; round < 13 && !statuses.includes(429); round += 1)
      statuses.push(...(await Promise.all(Array.from({ length: 100 }, async () => (await ask()).status))));
    expect(new Set(statuses)).toEqual(new Set([200, 429]));
    const refused = await ask();
    expectError(refused, 429);
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
    await request(api.url).get('/v1/me').set('authorization', bearer()).expect(200);
  });
});

async function expired(): Promise<string> {
  return new SignJWT({ sub: ATHLETE })
    .setProtectedHeader({ alg: 'HS256' })
    .setExpirationTime('-10m')
    .sign(new TextEncoder().encode(JWT_SECRET));
}

function expectError(answer: request.Response, status: number): void {
  expect(answer.status).toBe(status);
  expect(answer.body).toEqual({
    error: expect.any(String),
    details: expect.any(Array),
    request_id: expect.any(String),
  });
  expect(answer.headers['content-type']).toContain('application/json');
  expect(answer.headers['x-request-id']).toBe(answer.body.request_id);
}

/** A client library would tidy the path up; this sends what it is given. */
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
  const text = answer.slice(answer.indexOf('\r\n\r\n') + 4);
  return { status: Number(answer.slice(9, 12)), text, body: JSON.parse(text) as unknown };
}

function rawBytes(base: string, bytes: string): Promise<string> {
  const { hostname, port } = new URL(base);
  return new Promise((resolve) => {
    let answer = '';
    const socket = connect(Number(port), hostname, () => socket.write(bytes));
    socket.on('data', (chunk: Buffer) => (answer += chunk.toString()));
    // A server that has answered an oversized body may reset the connection after it.
    socket.on('error', () => resolve(answer));
    socket.on('close', () => resolve(answer));
  });
}
