import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import request from 'supertest';
import { testEnvironment, tokenFor, type TestEnvironment } from '../harness/environment.js';
import { operationsOf, readDocument } from '../harness/openapi-document.js';
import { ProductProcess } from '../harness/process.js';

const APP = 'https://app.example';

describe('a process with METRICS_PORT, DOCS=off and CORS_ORIGINS', () => {
  let environment: TestEnvironment;
  let all: ProductProcess;
  let authorization: string;
  beforeAll(async () => {
    environment = await testEnvironment({
      METRICS_PORT: '0',
      DOCS: 'off',
      CORS_ORIGINS: `${APP}, http://localhost:5173/`,
    });
    all = await ProductProcess.start('all', environment.env);
    authorization = `Bearer ${await tokenFor('pages')}`;
  });
  afterAll(async () => {
    await all?.stop();
    await environment?.release();
  });

  it('METRICS_PORT serves metrics on that port only', async () => {
    const { metrics_url: url } = await all.line((line) => line.msg === 'ready');
    const { text, headers } = await request(String(url)).get('/metrics').expect(200);
    expect(text).toContain('http_request_duration_seconds');
    expect(headers['content-type']).toContain('text/plain');
    await request(String(url)).get('/v1/me').expect(404);
    for (const one of all.urls) await request(one).get('/metrics').expect(404);
  });

  it('DOCS=off serves no documentation, and / answers with links that work', async () => {
    for (const path of [
      '/docs',
      '/docs/',
      '/openapi.json',
      '/docs/swagger-ui.css',
      '/docs-json',
      '/docs-yaml',
    ])
      await request(all.url).get(path).expect(404);
    const { body } = await request(all.url).get('/').expect(200);
    for (const path of Object.values<string>(body.links)) await request(all.url).get(path).expect(200);
  });

  const preflight = (origin: string, path = '/v1/imports') =>
    request(all.url).options(path).set({
      origin,
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'authorization',
    });

  it.each([APP, 'http://localhost:5173'])(
    'CORS_ORIGINS lets a page of %s call /v1 and read its headers',
    async (origin) => {
      const preflighted = await preflight(origin).expect(204);
      expect(preflighted.headers).toMatchObject({ 'access-control-allow-origin': origin, vary: 'origin' });
      expect(preflighted.headers['access-control-allow-methods']).toContain('POST');
      expect(preflighted.headers['access-control-allow-headers']).toContain('authorization');
      expect(preflighted.headers['access-control-allow-credentials']).toBeUndefined();

      for (const [path, status] of [
        ['/v1/me', 200],
        ['/v1/activities/none', 404],
      ] as const) {
        const answer = await request(all.url).get(path).set({ authorization, origin }).expect(status);
        expect(answer.headers['access-control-allow-origin']).toBe(origin);
        expect(answer.headers['cross-origin-resource-policy']).toBe('cross-origin');
        expect(answer.headers.vary).toContain('origin');
        for (const name of ['ratelimit-remaining', 'etag', 'retry-after'])
          expect(answer.headers['access-control-expose-headers']).toContain(name);
      }
      const json = { origin, 'content-type': 'application/json' };
      for (const [refused, status] of [
        [request(all.url).get('/v1/me').set({ origin }), 401],
        [request(all.url).post('/v1/imports').set(json).send('{}'), 401],
        [
          request(all.url)
            .post('/v1/imports')
            .set({ ...json, authorization })
            .send('{'),
          400,
        ],
        [
          request(all.url)
            .post('/v1/imports')
            .set({ ...json, authorization, 'content-encoding': 'gzip' })
            .send('{}'),
          415,
        ],
        [request(all.url).put('/v1/imports').set(json).send('{}'), 405],
        [request(all.url).post('/v1/nothing').set(json).send('{}'), 404],
      ] as const) {
        const { headers } = await refused.expect(status);
        expect([status, headers['access-control-allow-origin']]).toEqual([status, origin]);
      }
    },
  );

  it('CORS_ORIGINS lets a page send each header, and read each header of answers, that openapi.json names on /v1', async () => {
    const document = readDocument();
    const operations = operationsOf(document).filter(([place]) => place.includes(' /v1/'));
    const sent = operations.flatMap(([, { parameters = [] }]) =>
      parameters.filter((one) => one.in === 'header').map(({ name }) => name.toLowerCase()),
    );
    const answers = operations.flatMap(([, { responses }]) => Object.values(responses));
    const answered = answers.flatMap(({ $ref = '', headers }) =>
      Object.keys(headers ?? document.components.responses[$ref.split('/').at(-1) ?? '']?.headers ?? {}),
    );
    const { headers } = await preflight(APP).expect(204);
    const listed = (name: string) => String(headers[`access-control-${name}-headers`]).split(', ');
    expect(sent.length).toBeGreaterThan(0);
    expect(listed('allow')).toEqual(expect.arrayContaining(sent));
    // A page of another origin has no cookie.
    const readable = answered.map((name) => name.toLowerCase()).filter((name) => name !== 'set-cookie');
    expect(listed('expose')).toEqual(expect.arrayContaining(readable));
  });

  it.each(['https://app.example.evil', 'http://app.example', 'https://sub.app.example', 'null'])(
    'CORS_ORIGINS does not let a page of %s read answers',
    async (origin) => {
      const preflighted = await preflight(origin).expect(405);
      const answer = await request(all.url).get('/v1/me').set({ authorization, origin });
      for (const { headers } of [preflighted, answer]) {
        expect(headers['access-control-allow-origin']).toBeUndefined();
        expect(headers['cross-origin-resource-policy']).toBe('same-origin');
      }
      expect(answer.headers.vary).toBe('origin');
    },
  );

  it('CORS_ORIGINS allows other origins on /v1 only', async () => {
    for (const path of ['/admin/dlq', '/health/ready', '/api/v1/ingest/sleep']) {
      const { headers } = await preflight(APP, path);
      expect(headers['access-control-allow-origin']).toBeUndefined();
    }
  });
});

describe('a process with JWT_ISSUER, on the database of a process without JWT_ISSUER', () => {
  const ISSUER = 'https://id.example';
  const SUBJECT = 'auth0|was-here-before';
  let environment: TestEnvironment;
  beforeAll(async () => (environment = await testEnvironment()));
  afterAll(() => environment?.release());

  const idAt = async (env: Record<string, string>, claims: object) => {
    const api = await ProductProcess.start('api', { ...environment.env, ...env });
    const token = await tokenFor(SUBJECT, { ...claims });
    const me = () => request(api.url).get('/v1/me').set('authorization', `Bearer ${token}`).expect(200);
    const ids: string[] = [(await me()).body.athlete_id, (await me()).body.athlete_id];
    await api.stop();
    return ids;
  };

  it('an athlete stored without an issuer keeps the id and gets the issuer once JWT_ISSUER is set', async () => {
    const [before] = await idAt({}, {});
    const client = new pg.Client({ connectionString: environment.env.DATABASE_URL });
    await client.connect();
    expect(await idAt({ JWT_ISSUER: ISSUER }, { iss: ISSUER })).toEqual([before, before]);
    const { rows } = await client.query('select id, issuer, subject from athlete');
    await client.end();
    expect(rows).toEqual([{ id: before, issuer: ISSUER, subject: SUBJECT }]);
  });
});
