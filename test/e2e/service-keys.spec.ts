import { randomBytes, randomUUID } from 'node:crypto';
import { request } from 'node:http';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { tokenFor } from '../harness/environment.js';
import { assertDocumentedCode } from '../harness/error-codes.js';
import { eventually } from '../harness/eventually.js';
import {
  assertValidAnswer,
  type Operation,
  operationsOf,
  readDocument,
} from '../harness/openapi-document.js';
import { NatsServer } from '../harness/nats-server.js';
import { ProductProcess } from '../harness/process.js';
import { World } from '../harness/world.js';

// Some waits of these tests are longer than the usual 90 s of a test.
jest.setTimeout(180_000);

const SCOPES = ['read', 'write', 'ingest', 'events'];
const ACTIVITIES = 3;
const ENV_INGEST_KEY = 'an-ingest-key-for-tests';
const UNKNOWN_ID = randomUUID();
// A replica may go on with a revoked key for this long.
const REVOKED_AFTER_MS = 5_000;

interface ServiceKey {
  readonly id: string;
  readonly key: string;
}

interface Sent {
  readonly key: string;
  readonly athlete?: string;
  readonly body?: unknown;
  readonly url?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

interface Received {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly body: Record<string, unknown>;
}

const wrongKey = () => `pk_${randomBytes(32).toString('base64url')}`;
const night = (userId: string) => ({ userId, date: '2025-10-02', durationMinutes: 420 });

/** The routes of `/v1` and the ingest that take a service key, with the scopes of which one is needed. */
const routes = operationsOf(readDocument())
  .map(([place, operation]) => ({ place, operation, scopes: scopesOf(operation) }))
  .filter(({ scopes }) => scopes.length > 0);
const SPANNING = / \/v1\/(athletes|changes|events|webhook-endpoints)\b/;
const spanning = routes.filter(({ place }) => SPANNING.test(place));
const ofOneAthlete = routes.filter(({ place }) => place.includes(' /v1/') && !SPANNING.test(place));

function scopesOf({ security = [] }: Operation): string[] {
  return security.flatMap((one) => (one['service-key'] as string[] | undefined) ?? []);
}

describe('service keys', () => {
  const athlete = randomUUID();
  const other = randomUUID();
  let nats: NatsServer;
  let world: World;
  let replica: ProductProcess;
  let backend: ServiceKey;
  /** A value for each parameter of a path, such that the route finds the athlete's own object. */
  let parameters: Readonly<Record<string, string>>;

  beforeAll(async () => {
    // With the NATS of all tests, the worker of another test could take the night.
    nats = await NatsServer.start();
    world = await World.start({
      env: { NATS_URL: nats.url, INGEST_API_KEYS: ENV_INGEST_KEY, LOG_LEVEL: 'debug' },
    });
    replica = await ProductProcess.start('api', { ...world.env, PORT: '0' });
    backend = await newKey(SCOPES);
    for (const one of [athlete, other]) await world.call(one, 'GET', '/v1/me');
    await world.connect(athlete, await world.vendorAthlete(ACTIVITIES, { seed: 4_711 }));
    await eventually(
      'all are processed, and the import is complete',
      async () => {
        const processed = await world.rows('select 1 from processed_activities');
        const imported = await world.rows("select 1 from import_jobs where status = 'completed'");
        return processed.length === ACTIVITIES && imported.length > 0;
      },
      150_000,
    );
    const [ids] = await world.rows<{ activity: string; import: string; job: string }>(
      `select
         (select id from activity limit 1) as activity,
         (select id from import_jobs limit 1) as import,
         (select job_id from jobs limit 1) as job`,
    );
    parameters = {
      '/v1/activities/{id}': ids!.activity,
      '/v1/imports/{id}': ids!.import,
      '/v1/jobs/{id}': ids!.job,
      '/v1/sleep/{date}': night(athlete).date,
    };
    await send('POST', '/api/v1/ingest/sleep', { key: backend.key, body: night(athlete) });
    await eventually('the night is stored', async () => {
      const { body } = await send('GET', '/v1/sleep', { key: backend.key, athlete });
      return (body['items'] as unknown[]).length > 0;
    });
  });
  afterAll(async () => {
    await replica?.stop();
    await world?.stop();
    await nats?.stop();
  });

  async function newKey(scopes: readonly string[]): Promise<ServiceKey> {
    const { status, body } = await asOperator('POST', '/admin/keys', { name: 'a test', scopes });
    expect(status).toBe(201);
    return body as unknown as ServiceKey;
  }

  async function asOperator(method: string, path: string, body?: unknown): Promise<Received> {
    return send(method, path, { key: await tokenFor(OPERATOR, { role: 'admin' }), body });
  }
  const OPERATOR = randomUUID();

  /** Sends a request with a key or token, and checks the answer against the documents. */
  async function send(
    method: string,
    path: string,
    { key, athlete: one, body, url, headers }: Sent,
  ): Promise<Received> {
    const answer = await fetch(`${url ?? world.api.url}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${key}`,
        ...(one === undefined ? {} : { 'pacekeeper-athlete': one }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    const isJson = answer.headers.get('content-type')?.startsWith('application/json');
    const text = isJson ? await answer.text() : Buffer.from(await answer.arrayBuffer()).toString('latin1');
    const read = isJson ? (JSON.parse(text) as Record<string, unknown>) : undefined;
    if (answer.status >= 400) assertDocumentedCode(`${method} ${path}`, read);
    assertValidAnswer({ method, path, status: answer.status, body: read });
    return { status: answer.status, headers: answer.headers, text, body: read ?? {} };
  }

  /** Reads no body, because a stream of events may have no end. */
  async function statusOf(method: string, path: string, key: string, body?: object): Promise<number> {
    const answer = await fetch(`${world.api.url}${path}`, {
      method,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: body && JSON.stringify(body),
    });
    await answer.body?.cancel();
    return answer.status;
  }

  /** Method and path of a route, with the athlete's own objects as parameters. */
  function callOf(place: string): readonly [method: string, path: string] {
    const [method = '', template = ''] = place.split(' ');
    const [prefix] = Object.keys(parameters).filter((one) => template.startsWith(one));
    const path = template
      .replace(/\{(?:id|date)\}/, prefix ? parameters[prefix]! : UNKNOWN_ID)
      .replace('{provider}', 'whoop');
    return [method, path];
  }
  const bodyFor = ({ requestBody }: Operation) => (requestBody ? {} : undefined);

  it('the document names the scope of a service key for each route of /v1 that is not public, and for none of /admin', () => {
    const others = operationsOf(readDocument())
      .filter(([, operation]) => operation.security?.length && scopesOf(operation).length === 0)
      .map(([place]) => place);
    // These are about a person's own token or session.
    const personal = ['GET /v1/session', 'DELETE /v1/session', 'POST /v1/session/codes'];
    expect(others.filter((place) => !place.includes(' /admin/')).sort()).toEqual(personal.sort());
    expect(ofOneAthlete.length).toBeGreaterThan(15);
    expect(spanning.map(({ place }) => place)).toEqual(
      expect.arrayContaining(['GET /v1/athletes', 'POST /v1/athletes']),
    );
  });

  it('every route of one athlete answers a key without an athlete with 400, with a malformed athlete 400, with an unknown athlete 404', async () => {
    for (const { place, operation } of ofOneAthlete) {
      const [method, path] = callOf(place);
      const body = bodyFor(operation);
      const without = await send(method, path, { key: backend.key, body });
      expect([place, without.status, without.body['code']]).toEqual([place, 400, 'ATHLETE_REQUIRED']);
      const malformed = await send(method, path, { key: backend.key, athlete: 'ann', body });
      expect([place, malformed.status, malformed.body['details']]).toEqual([
        place,
        400,
        ['Pacekeeper-Athlete: must be the id of an athlete'],
      ]);
      const unknown = await send(method, path, { key: backend.key, athlete: UNKNOWN_ID, body });
      expect([place, unknown.status, unknown.body['code']]).toEqual([place, 404, 'NOT_FOUND']);
    }
  });

  it('every GET route answers a key with an athlete exactly as it answers the athlete’s own token', async () => {
    const own = await tokenFor(athlete);
    const reads = ofOneAthlete.filter(({ place }) => place.startsWith('GET '));
    for (const { place } of reads) {
      const [method, path] = callOf(place);
      const byKey = await send(method, path, { key: backend.key, athlete: athlete.toUpperCase() });
      const byToken = await send(method, path, { key: own });
      expect([place, byKey.status]).toEqual([place, byToken.status]);
      expect(byKey.status).toBe(200);
      const isComparable = !['GET /v1/me', 'GET /v1/account/export'].includes(place);
      if (isComparable) expect(byKey.text).toBe(byToken.text);
    }
    expect((await send('GET', '/v1/me', { key: backend.key, athlete })).body).toEqual({
      athlete_id: athlete,
      role: 'service',
      token_expires_at: null,
    });
    const activities = await send('GET', '/v1/activities', { key: backend.key, athlete });
    expect(activities.body['items']).toHaveLength(ACTIVITIES);
  });

  it('every route answers 403 to a key without its scope, and admits a key with it', async () => {
    const keys = await Promise.all(
      SCOPES.map(async (scope) => [scope, (await newKey([scope])).key] as const),
    );
    for (const { place, operation, scopes } of routes) {
      const [method, path] = callOf(place);
      for (const [scope, key] of keys) {
        const status = await statusOf(method, path, key, bodyFor(operation));
        expect([place, scope, status === 403]).toEqual([place, scope, !scopes.includes(scope)]);
      }
    }
  });

  it('GET /v1/activities/{id} answers 404 to a key for an object of another athlete', async () => {
    for (const path of Object.entries(parameters).map(([prefix, id]) => prefix.replace(/\{\w+\}/, id))) {
      const { status } = await send('GET', path, { key: backend.key, athlete: other });
      expect([path, status]).toEqual([path, 404]);
    }
  });

  it('an athlete’s own token ignores Pacekeeper-Athlete, and /v1/athletes answers 403 to a person', async () => {
    const own = await tokenFor(athlete);
    for (const header of [other, 'nonsense']) {
      const { body } = await send('GET', '/v1/me', { key: own, athlete: header });
      expect(body).toMatchObject({ athlete_id: athlete, role: 'athlete' });
    }
    for (const key of [own, await tokenFor(OPERATOR, { role: 'admin' })]) {
      expect((await send('GET', '/v1/athletes', { key })).status).toBe(403);
      expect((await send('POST', '/v1/athletes', { key, body: { subject: 'x' } })).status).toBe(403);
    }
  });

  it('an operator’s request with Pacekeeper-Athlete answers for that athlete and is noted in the audit log', async () => {
    const key = await tokenFor(OPERATOR, { role: 'admin' });
    const { body } = await send('GET', '/v1/activities', { key, athlete });
    expect(body['items']).toHaveLength(ACTIVITIES);
    expect((await send('GET', '/v1/activities', { key, athlete: UNKNOWN_ID })).status).toBe(404);
    expect((await send('GET', '/admin/keys', { key, athlete: 'nonsense' })).status).toBe(200);
    const noted = await world.rows(
      "select actor, target, detail from operator_action where action = 'athlete.request'",
    );
    expect(noted).toEqual([
      { actor: OPERATOR, target: athlete, detail: { method: 'GET', route: '/v1/activities' } },
    ]);
  });

  it('/admin answers 403 to a key with all scopes', async () => {
    const routesOfOperators = operationsOf(readDocument()).filter(([place]) => place.includes(' /admin/'));
    for (const [place, operation] of routesOfOperators) {
      const [method, path] = callOf(place);
      const { status } = await send(method, path, { key: backend.key, athlete, body: bodyFor(operation) });
      expect([place, status]).toEqual([place, 403]);
    }
  });

  it('a new key works at once on both replicas, and no request that is sent 5 s after its revocation is admitted', async () => {
    const urls = [world.api.url, replica.url];
    for (const url of urls) await send('GET', '/v1/me', { key: backend.key, athlete, url });
    const { id, key } = await newKey(['read']);
    for (const url of urls) expect((await send('GET', '/v1/me', { key, athlete, url })).status).toBe(200);
    expect((await asOperator('DELETE', `/admin/keys/${id}`)).status).toBe(204);
    const revokedAtMs = performance.now();
    for (const url of urls) {
      let sentAtMs = 0;
      await eventually('the key is refused', async () => {
        sentAtMs = performance.now();
        const isRefused = (await send('GET', '/v1/me', { key, athlete, url })).status === 401;
        return isRefused || sentAtMs > revokedAtMs + REVOKED_AFTER_MS;
      });
      const { status, body } = await send('GET', '/v1/me', { key, athlete, url });
      expect([status, body['code']]).toEqual([401, 'UNAUTHENTICATED']);
    }
    expect((await asOperator('DELETE', `/admin/keys/${id}`)).status).toBe(204);
    expect((await asOperator('DELETE', `/admin/keys/${UNKNOWN_ID}`)).status).toBe(404);
  });

  it('the event stream of a revoked key ends without another change, and so does its long poll', async () => {
    const { id, key } = await newKey(['events']);
    const headers = { authorization: `Bearer ${key}` };
    const answer = await fetch(`${world.api.url}/v1/events`, { headers });
    const text = answer.text();
    const { body } = await send('GET', '/v1/changes?after=latest', { key });
    const polled = send('GET', `/v1/changes?after=${String(body['next_cursor'])}&wait=30`, { key });
    await asOperator('DELETE', `/admin/keys/${id}`);
    await eventually(
      'the key is refused',
      async () => (await send('GET', '/v1/changes', { key })).status === 401,
    );
    await world.rows(
      "insert into change_outbox (type, athlete_id, subject_id) values ('sleep.removed', $1, 'late')",
      [athlete],
    );
    expect(await text).not.toContain('late');
    expect((await polled).status).toBe(401);
  });

  it('2,000 different wrong keys are answered with 401, cost a bounded number of statements, and do not hinder a right key', async () => {
    const scans = async () => {
      const [row] = await world.rows<{ scans: number }>(
        "select (seq_scan + coalesce(idx_scan, 0))::float8 as scans from pg_stat_user_tables where relname = 'service_key'",
      );
      return row?.scans ?? 0;
    };
    const before = await scans();
    const beganAtMs = performance.now();
    for (let round = 0; round < 10; round += 1) {
      const wrong = Array.from({ length: 200 }, () => send('GET', '/v1/me', { key: wrongKey(), athlete }));
      const right = send('GET', '/v1/me', { key: backend.key, athlete });
      expect(new Set((await Promise.all(wrong)).map(({ status }) => status))).toEqual(new Set([401]));
      expect((await right).status).toBe(200);
    }
    const tookMs = performance.now() - beganAtMs;
    for (const malformed of ['pk_', 'pk_short', `${wrongKey()}x`])
      expect((await send('GET', '/v1/me', { key: malformed, athlete })).status).toBe(401);
    // Postgres publishes its counts some time after the statements.
    const after = await eventually('the scans are counted', async () => {
      const now = await scans();
      return now > before ? now : undefined;
    });
    // Two replicas, four loads a second each, and one write of the last use.
    expect(after - before).toBeLessThanOrEqual(20 + (2 * 4 * tookMs) / 1_000);
  });

  it('a wrong scope and a wrong key are refused before the body is read', async () => {
    const { key } = await newKey(['read']);
    for (const [sent, status] of [
      [key, 403],
      [wrongKey(), 401],
    ] as const) {
      expect(await statusBeforeBody(`${world.api.url}/v1/imports`, { authorization: `Bearer ${sent}` })).toBe(
        status,
      );
    }
    const ingest = `${world.api.url}/api/v1/ingest/sleep`;
    expect(await statusBeforeBody(ingest, { 'x-api-key': key })).toBe(403);
    expect(await statusBeforeBody(ingest, { 'x-api-key': wrongKey() })).toBe(401);
  });

  it('the ingest of sleep takes a key with the scope ingest as x-api-key and as bearer token, and still the configured key', async () => {
    const { key } = await newKey(['ingest']);
    const idempotency = { 'idempotency-key': 'night-1' };
    const ingest = async (headers: Readonly<Record<string, string>>) => {
      const answer = await fetch(`${world.api.url}/api/v1/ingest/sleep`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: JSON.stringify(night(athlete)),
      });
      const body = (await answer.json()) as Record<string, unknown>;
      return { status: answer.status, id: body['eventId'], code: body['code'] };
    };
    const first = await ingest({ 'x-api-key': key, ...idempotency });
    expect(first.status).toBe(200);
    // The same key under either header is the same client.
    expect(await ingest({ authorization: `Bearer ${key}`, ...idempotency })).toEqual(first);
    expect((await ingest({ 'x-api-key': ENV_INGEST_KEY })).status).toBe(200);
    const { key: reader } = await newKey(['read', 'write', 'events']);
    expect(await ingest({ 'x-api-key': reader })).toMatchObject({ status: 403, code: 'FORBIDDEN' });
    for (const refused of [
      { 'x-api-key': wrongKey() },
      { authorization: `Bearer ${wrongKey()}` },
      { authorization: `Bearer ${await tokenFor(athlete)}` },
      {},
    ] as Array<Record<string, string>>)
      expect(await ingest(refused)).toMatchObject({ status: 401, code: 'UNAUTHENTICATED' });
  });

  it('a key begins and confirms a connection before the athlete’s first login; nobody else can confirm', async () => {
    const subject = `idp|${randomUUID()}`;
    const made = await send('POST', '/v1/athletes', { key: backend.key, body: { subject } });
    expect(made).toMatchObject({ status: 201, body: { subject, connections: [] } });
    const id = made.body['id'] as string;
    const again = await send('POST', '/v1/athletes', { key: backend.key, body: { subject } });
    expect([again.status, again.body]).toEqual([200, made.body]);

    const path = '/v1/connections/oura';
    const begun = await send('POST', path, { key: backend.key, athlete: id, body: {} });
    const vendorId = await world.simulator.newAthlete('oura');
    const back = await world.simulator.consent(begun.body['authorize_url'] as string, {
      athlete_id: vendorId,
    });
    const offer = await fetch(back, { headers: { accept: 'application/json' } });
    const body = { confirm: ((await offer.json()) as { confirm: string }).confirm };
    const own = await tokenFor(subject);
    const { key: another } = await newKey(['write']);
    for (const refused of [
      { key: own },
      { key: another, athlete: id },
      { key: backend.key, athlete: other },
      { key: await tokenFor(OPERATOR, { role: 'admin' }), athlete: id },
    ])
      expect(await send('POST', `${path}/confirm`, { ...refused, body })).toMatchObject({
        status: 404,
        body: { code: 'CONSENT_UNKNOWN' },
      });
    const confirmed = await eventually('a confirmation', async () => {
      const answer = await send('POST', `${path}/confirm`, { key: backend.key, athlete: id, body });
      return answer.status === 503 ? undefined : answer;
    });
    expect(confirmed).toMatchObject({ status: 200, body: { provider: 'oura', status: 'active' } });

    expect((await send('GET', '/v1/me', { key: own })).body).toMatchObject({ athlete_id: id });
    const one = await send('GET', '/v1/athletes', { key: backend.key, athlete: id });
    expect(one.body['items']).toEqual([
      { ...made.body, connections: [{ provider: 'oura', status: 'active' }] },
    ]);
  });

  it('a key cannot confirm a consent that the athlete’s own token began', async () => {
    const path = '/v1/connections/whoop';
    const own = await tokenFor(other);
    const begun = await send('POST', path, { key: own, body: {} });
    const vendorId = await world.simulator.newAthlete('whoop');
    const back = await world.simulator.consent(begun.body['authorize_url'] as string, {
      athlete_id: vendorId,
    });
    const offer = await fetch(back, { headers: { accept: 'application/json' } });
    const body = { confirm: ((await offer.json()) as { confirm: string }).confirm };
    const refused = await send('POST', `${path}/confirm`, { key: backend.key, athlete: other, body });
    expect(refused).toMatchObject({ status: 404, body: { code: 'CONSENT_UNKNOWN' } });
  });

  it('GET /v1/athletes has each athlete once over its pages, and POST /v1/athletes refuses a malformed subject', async () => {
    for (let n = 0; n < 3; n += 1)
      await send('POST', '/v1/athletes', { key: backend.key, body: { subject: `idp|page ${n}` } });
    const ids: string[] = [];
    let cursor: string | null = null;
    do {
      const query: string = cursor === null ? 'limit=2' : `limit=2&cursor=${cursor}`;
      const { body } = await send('GET', `/v1/athletes?${query}`, { key: backend.key });
      ids.push(...(body['items'] as Array<{ id: string }>).map(({ id }) => id));
      cursor = body['next_cursor'] as string | null;
    } while (cursor !== null);
    const stored = await world.rows<{ id: string }>('select id from athlete order by created_at, id');
    expect(ids).toEqual(stored.map(({ id }) => id));
    for (const body of [
      {},
      { subject: '' },
      { subject: ' ' },
      { subject: 7 },
      { subject: 'a\0b' },
      { subject: 'x'.repeat(1_001) },
    ])
      expect((await send('POST', '/v1/athletes', { key: backend.key, body })).status).toBe(400);
    for (const query of ['limit=0', 'cursor=nonsense'])
      expect((await send('GET', `/v1/athletes?${query}`, { key: backend.key })).status).toBe(400);
  });

  it('POST /admin/keys answers 400 for a wrong name or scope, and GET /admin/keys never shows a key', async () => {
    for (const body of [
      {},
      { name: ' ', scopes: ['read'] },
      { name: 'x', scopes: [] },
      { name: 'x', scopes: ['read', 'read'] },
      { name: 'x', scopes: ['admin'] },
      { name: 'x'.repeat(101), scopes: ['read'] },
    ])
      expect((await asOperator('POST', '/admin/keys', body)).status).toBe(400);
    await eventually('the use of the key is shown', async () => {
      const { body } = await asOperator('GET', '/admin/keys?limit=200');
      const items = body['items'] as Array<Record<string, unknown>>;
      return items.find(({ id }) => id === backend.id)?.['last_used_at'];
    });
    const list = await asOperator('GET', '/admin/keys?limit=200');
    expect(list.text).not.toContain('pk_');
  });

  it('requests of a key have a limit of 6,000 a minute of their own and are not charged to the athlete', async () => {
    const own = await tokenFor(athlete);
    const remaining = async (sent: Sent) => {
      const { headers } = await send('GET', '/v1/me', sent);
      return [headers.get('ratelimit-limit'), Number(headers.get('ratelimit-remaining'))] as const;
    };
    const [limit, before] = await remaining({ key: own });
    expect(limit).toBe('600');
    for (let n = 0; n < 40; n += 1) expect((await remaining({ key: backend.key, athlete }))[0]).toBe('6000');
    // Another key has a count of its own.
    expect(await remaining({ key: (await newKey(['read'])).key, athlete })).toEqual(['6000', 5_999]);
    // In a new minute there are more.
    expect((await remaining({ key: own }))[1]).toBeGreaterThanOrEqual(before - 1);
  });

  it('a key deletes the account of an athlete, who is unknown afterwards, and gets the same receipt for the same request', async () => {
    const { body } = await send('POST', '/v1/athletes', {
      key: backend.key,
      body: { subject: randomUUID() },
    });
    const id = body['id'] as string;
    const { status, body: deleted } = await send('DELETE', '/v1/account', { key: backend.key, athlete: id });
    expect(status).toBe(202);
    const receipt = `/v1/receipts/${deleted['receipt_id'] as string}`;
    await eventually(
      'the deletion is completed',
      async () => (await send('GET', receipt, { key: backend.key })).body['status'] === 'completed',
    );
    await eventually(
      'the athlete is unknown',
      async () => (await send('GET', '/v1/me', { key: backend.key, athlete: id })).status === 404,
    );
    const again = await send('DELETE', '/v1/account', { key: backend.key, athlete: id });
    expect([again.status, again.body]).toEqual([202, deleted]);
    const unknown = await send('DELETE', '/v1/account', { key: backend.key, athlete: randomUUID() });
    expect(unknown.status).toBe(404);
  });

  it('neither the log nor the metrics contain a key, also if a client sends it as its request id', async () => {
    const headers = { 'x-request-id': backend.key };
    await send('GET', '/v1/me', { key: backend.key, athlete, headers });
    await send('GET', `/v1/activities/${backend.key}?cursor=${backend.key}`, { key: backend.key, athlete });
    await send('GET', '/v1/me', { key: backend.key, headers });
    await replica.stop();
    const written = JSON.stringify([
      ...world.api.lines,
      ...replica.lines,
      ...world.workers.map(({ lines }) => lines),
    ]);
    expect(written).toContain('"/v1/me"');
    expect(written).not.toMatch(/pk_[\w-]{16}/);
    expect(await (await fetch(`${world.api.url}/metrics`)).text()).not.toContain('pk_');
    expect(
      JSON.stringify(await world.rows('select detail, target, actor from operator_action')),
    ).not.toContain('pk_');
  });
});

/** The status that arrives although the body is announced and never sent. */
function statusBeforeBody(
  url: string,
  headers: Readonly<Record<string, string>>,
): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const sent = request(url, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json', 'content-length': '1000' },
    });
    sent.on('response', ({ statusCode }) => {
      resolve(statusCode);
      sent.destroy();
    });
    sent.on('error', reject);
    sent.flushHeaders();
  });
}
