import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Webhook } from 'standardwebhooks';
import { Changes } from '#platform';
import { eventually } from '../harness/eventually.js';
import { openPool } from '../harness/test-database.js';
import { answers, Receiver } from '../harness/webhook-receiver.js';
import { type Answer, type ReceiptBody, World } from '../harness/world.js';

// Some waits of these tests are longer than the usual 90 s of a test.
jest.setTimeout(180_000);

// The sender of requests with a service key has no subject.
const SUBJECT = randomUUID();
const KILLS = 6;
const CHANGES_PER_KILL = 350;

interface EndpointBody {
  readonly id: string;
  readonly secret: string;
  readonly status: string;
  readonly disabled_reason: string | null;
  readonly details: readonly string[];
}

interface DeliveriesBody {
  readonly items: ReadonlyArray<{
    readonly id: string;
    readonly change_id: string;
    readonly type: string;
    readonly status: string;
    readonly attempts: number;
    readonly last_status: number | null;
    readonly last_error: string | null;
  }>;
  readonly next_cursor: string | null;
}

async function backendOf(world: World) {
  const authorization = `Bearer ${await world.serviceKey('events')}`;
  return <T = EndpointBody>(method: string, path = '', body?: unknown): Promise<Answer<T>> =>
    world.call<T>(SUBJECT, method, `/v1/webhook-endpoints${path}`, body, { authorization });
}

describe('webhook endpoints', () => {
  let world: World;
  let pool: Awaited<ReturnType<typeof openPool>>;
  let changes: Changes;
  let call: Awaited<ReturnType<typeof backendOf>>;
  let receivers: Receiver[];
  beforeAll(async () => {
    world = await World.start({ env: { WEBHOOKS_ALLOW_PRIVATE: '1' } });
    pool = await openPool(world.env['DATABASE_URL'] ?? '');
    changes = new Changes(pool.database);
    call = await backendOf(world);
  }, 180_000);
  afterAll(async () => {
    await pool?.close();
    await world?.stop();
  });
  beforeEach(() => void (receivers = []));
  afterEach(async () => {
    for (const { id } of (await call<{ items: EndpointBody[] }>('GET')).body.items)
      await call('DELETE', `/${id}`);
    await Promise.all(receivers.map((receiver) => receiver.stop()));
  });

  async function endpoint(answer = answers(204), types = ['*']) {
    const receiver = await Receiver.start(answer);
    receivers.push(receiver);
    const { status, body } = await call('POST', '', { url: receiver.url, types });
    expect(status).toBe(201);
    return { receiver, ...body };
  }
  /** Writes changes into the log and returns their ids. */
  async function happen(count: number, athleteId: string = randomUUID()): Promise<string[]> {
    const subjects = Array.from({ length: count }, () => randomUUID());
    await pool.database.transaction(async (sql) => {
      for (const subjectId of subjects)
        await changes.record(sql, { type: 'import.completed', athleteId, subjectId, data: { subjectId } });
    });
    return eventually('all changes are in the log', async () => {
      await changes.sequence();
      const rows = await world.rows<{ id: string }>('select id from change where subject_id = any($1)', [
        subjects,
      ]);
      return rows.length === count ? rows.map(({ id }) => id) : undefined;
    });
  }
  const missing = ({ receiver }: { receiver: Receiver }, ids: readonly string[]) => {
    const got = new Set(receiver.ids);
    return ids.filter((id) => !got.has(id));
  };
  const deliveries = async (id: string, query = '') =>
    (await call<DeliveriesBody>('GET', `/${id}/deliveries${query}`)).body.items;

  it('an endpoint is created with a secret that no later answer shows, is changed, and is deleted', async () => {
    const { id, secret } = await endpoint();
    expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    const { body } = await call('GET', `/${id}`);
    expect(body).toMatchObject({ id, types: ['*'], status: 'active', description: null });
    expect(body).not.toHaveProperty('secret');
    const changed = await call('PATCH', `/${id}`, {
      types: ['sleep.*'],
      description: 'nights',
      status: 'disabled',
    });
    expect(changed.body).toMatchObject({
      types: ['sleep.*'],
      description: 'nights',
      status: 'disabled',
      disabled_reason: 'Disabled by request.',
    });
    expect((await call('DELETE', `/${id}`)).status).toBe(204);
    for (const [method, path] of [
      ['GET', ''],
      ['PATCH', ''],
      ['DELETE', ''],
      ['POST', '/rotate-secret'],
      ['POST', '/test'],
      ['POST', '/replay'],
      ['GET', '/deliveries'],
      ['POST', '/deliveries/1/redeliver'],
    ] as const)
      expect((await call(method, `/${id}${path}`, bodyFor(method, path))).status).toBe(404);
  });

  it('an endpoint with a wrong URL, wrong types or unknown fields is answered with 400, which names the field', async () => {
    const url = 'http://127.0.0.1:1/';
    for (const [body, field] of [
      [{ url: 'ftp://app.example/', types: ['*'] }, 'url'],
      [{ url: 'app.example', types: ['*'] }, 'url'],
      [{ url: 7, types: ['*'] }, 'url'],
      [{ types: ['*'] }, 'url'],
      [{ url, types: ['activity.exploded'] }, 'types'],
      [{ url, types: ['activity'] }, 'types'],
      [{ url, types: [] }, 'types'],
      [{ url, types: '*' }, 'types'],
      [{ url, types: ['*', '*'] }, 'types'],
      [{ url }, 'types'],
      [{ url, types: ['*'], description: 'x'.repeat(501) }, 'description'],
      [{ url, types: ['*'], secret: 'whsec_mine' }, 'secret'],
    ] as const) {
      const { status, body: error } = await call('POST', '', body);
      expect([status, error.details.map((line) => line.split(':')[0])]).toEqual([
        400,
        expect.arrayContaining([field]),
      ]);
    }
    const { id } = await endpoint();
    for (const [path, body] of [
      ['', { url: null }],
      ['', { types: ['nothing.*'] }],
      ['', { status: 'deleted' }],
      ['/replay', {}],
      ['/replay', { from: 'yesterday' }],
      ['/replay', { from: '2026-01-02T00:00:00Z', to: '2026-01-01T00:00:00Z' }],
    ] as const)
      expect((await call(path ? 'POST' : 'PATCH', `/${id}${path}`, body)).status).toBe(400);
    for (const query of ['limit=0', 'limit=201', 'status=lost', 'cursor=x', 'colour=red'])
      expect((await call('GET', `/${id}/deliveries?${query}`)).status).toBe(400);
  });

  it('an answer with a secret may not be stored by caches', async () => {
    const headers = {
      authorization: `Bearer ${await world.serviceKey('events')}`,
      'content-type': 'application/json',
    };
    const cacheControl = async (path: string, body?: string) => {
      const url = `${world.api.url}/v1/webhook-endpoints${path}`;
      return (await fetch(url, { method: 'POST', headers, body })).headers.get('cache-control');
    };
    const { id, receiver } = await endpoint();
    expect(await cacheControl('', JSON.stringify({ url: receiver.url, types: ['*'] }))).toBe('no-store');
    expect(await cacheControl(`/${id}/rotate-secret`)).toBe('no-store');
  });

  it('a test and a repetition are answered with 409 while the endpoint is disabled', async () => {
    const { id } = await endpoint();
    const { body: test } = await call<DeliveriesBody['items'][number]>('POST', `/${id}/test`);
    await call('PATCH', `/${id}`, { status: 'disabled' });
    for (const path of ['test', `deliveries/${test.id}/redeliver`]) {
      const { status, body } = await call<{ code: string }>('POST', `/${id}/${path}`);
      expect([path, status, body.code]).toEqual([path, 409, 'ENDPOINT_DISABLED']);
    }
  });

  it('webhook endpoints answer 403 to an athlete’s token and to a service key without the scope events', async () => {
    const authorization = `Bearer ${await world.serviceKey('read', 'write', 'ingest')}`;
    for (const headers of [undefined, { authorization }])
      for (const [method, path] of [
        ['GET', ''],
        ['POST', ''],
        ['GET', `/${randomUUID()}/deliveries`],
      ] as const) {
        const body = method === 'POST' ? { url: 'https://app.example/', types: ['*'] } : undefined;
        const answer = await world.call(SUBJECT, method, `/v1/webhook-endpoints${path}`, body, headers);
        expect(answer.status).toBe(403);
      }
  });

  it('changes arrive with signatures that the official library verifies, also during a rotation', async () => {
    const one = await endpoint();
    const [id = ''] = await happen(1);
    await eventually('the delivery', () => one.receiver.ids.includes(id));
    const first = one.receiver.received[0]!;
    expect(new Webhook(one.secret).verify(first.body, first.headers)).toMatchObject({
      id,
      type: 'import.completed',
    });
    const { body: rotated } = await call('POST', `/${one.id}/rotate-secret`);
    const { body: test } = await call<DeliveriesBody['items'][number]>('POST', `/${one.id}/test`);
    await eventually('the test', () => one.receiver.ids.includes(test.change_id));
    const last = one.receiver.received.at(-1)!;
    for (const secret of [one.secret, rotated.secret])
      expect(new Webhook(secret).verify(last.body, last.headers)).toMatchObject({ type: 'test' });
  });

  it('every change arrives at every endpoint at least once under its id while workers are killed and other endpoints are dead', async () => {
    const slow = await endpoint((_, response) => void setTimeout(() => response.writeHead(200).end(), 20));
    const quick = await endpoint();
    let calls = 0;
    const flaky = await endpoint((request, response) =>
      answers((calls += 1) % 10 === 0 ? 503 : 200)(request, response),
    );
    const hanging = await endpoint(() => undefined);
    const dead = await endpoint();
    await dead.receiver.stop();
    await world.startWorker();

    const ids: string[] = [];
    for (let kill = 0; kill < KILLS; kill += 1) {
      ids.push(...(await happen(CHANGES_PER_KILL)));
      // A worker is killed in the middle of this part: some of it has arrived, and some has not.
      await eventually('some of them arrive', () => missing(quick, ids).length < 300, 60_000);
      const [victim] = world.workers;
      if (victim) await world.kill(victim);
      await world.startWorker();
    }
    for (const one of [quick, slow, flaky])
      await eventually('all have arrived', () => missing(one, ids).length === 0, 150_000);
    for (const one of [quick, slow, flaky])
      for (const { id, body } of one.receiver.received)
        expect((JSON.parse(body) as { id: string }).id).toBe(id);
    expect(hanging.receiver.mostAtOnce).toBeLessThanOrEqual(8);
    // The killed workers have written no attempt.
    const timedOut =
      "select from webhook_delivery where endpoint_id = $1 and last_error = 'No whole answer within 10 s.'";
    await eventually(
      'an attempt at the hanging endpoint has ended after 10 s',
      async () => (await world.rows(timedOut, [hanging.id])).length > 0,
      60_000,
    );

    // Nothing is stored as delivered that has not arrived, and nothing is lost at the dead endpoint.
    await eventually('no delivery of these waits', async () => {
      const waiting = await Promise.all(
        [quick, slow, flaky].map(({ id }) => deliveries(id, '?status=pending')),
      );
      return waiting.every((items) => items.length === 0);
    });
    const kept = await world.rows<{ change_id: string }>(
      'select change_id from webhook_delivery where endpoint_id = $1',
      [dead.id],
    );
    const known = new Set(kept.map(({ change_id }) => change_id));
    expect(ids.filter((id) => !known.has(id))).toEqual([]);
  }, 400_000);

  it('410 disables an endpoint; PATCH enables it, and replay delivers the changes from in between', async () => {
    const one = await endpoint(answers(410));
    const [first = ''] = await happen(1);
    await eventually(
      'the endpoint is disabled',
      async () => (await call('GET', `/${one.id}`)).body.status === 'disabled',
    );
    expect((await call('GET', `/${one.id}`)).body.disabled_reason).toBe('The endpoint answered 410.');
    expect(await deliveries(one.id)).toMatchObject([
      { change_id: first, status: 'pending', attempts: 1, last_status: 410 },
    ]);
    const [second = ''] = await happen(1);
    one.receiver.answer = answers(200);
    expect((await call('PATCH', `/${one.id}`, { status: 'active' })).body).toMatchObject({
      status: 'active',
    });
    await eventually(
      'the waiting delivery',
      async () => (await deliveries(one.id, '?status=delivered')).length > 0,
    );
    const from = new Date(Date.now() - 3_600_000).toISOString();
    expect((await call('POST', `/${one.id}/replay`, { from })).status).toBe(202);
    await eventually('the replayed delivery', () => one.receiver.ids.includes(second));

    const [delivered] = await deliveries(one.id, '?status=delivered&limit=1');
    const before = one.receiver.ids.length;
    expect((await call('POST', `/${one.id}/deliveries/${delivered?.id}/redeliver`)).status).toBe(202);
    await eventually('the repeated delivery', () => one.receiver.ids.length > before);
  });

  it('the deletion of an athlete drops waiting deliveries, counts the others in the receipt, and is announced', async () => {
    const healthy = await endpoint();
    const dead = await endpoint(answers(500));
    const athlete = randomUUID();
    await world.call(athlete, 'GET', '/v1/me');
    const ids = await happen(3, athlete);
    await eventually('they arrive', () => missing(healthy, ids).length === 0);
    await eventually(
      'they are stored as delivered',
      async () => (await deliveries(healthy.id, '?status=delivered')).length === 3,
    );
    const { body } = await world.call<{ receipt_id: string }>(athlete, 'DELETE', '/v1/account');
    const receipt = await eventually('the receipt is completed', async () => {
      const { body: read } = await world.call<ReceiptBody>(athlete, 'GET', `/v1/receipts/${body.receipt_id}`);
      return read.status === 'completed' ? read : undefined;
    });
    expect(receipt.deleted).toMatchObject({ webhook_deliveries_sent: 3, webhook_deliveries_not_sent: 3 });
    const announced = await eventually('athlete.deleted arrives', async () => {
      await changes.sequence();
      return healthy.receiver.received.find(({ body: text }) => text.includes('athlete.deleted'));
    });
    expect(JSON.parse(announced.body)).toMatchObject({ subject_id: athlete, data: null });
    const left = await eventually('athlete.deleted waits for the dead endpoint', async () => {
      const items = await deliveries(dead.id);
      return items.length > 0 ? items : undefined;
    });
    expect(left.map(({ type }) => type)).toEqual(['athlete.deleted']);
  });

  it('no log line and no metric contains a secret, a URL of an endpoint or an endpoint’s answer', async () => {
    const one = await endpoint(answers(410, 'an-answer-of-the-endpoint'));
    await happen(1);
    await eventually(
      'the endpoint is disabled',
      async () => (await call('GET', `/${one.id}`)).body.status === 'disabled',
    );
    const processes = [world.api, ...world.workers];
    await eventually('the line about it', () =>
      processes.some(({ lines }) => lines.some(({ msg }) => msg === 'webhook endpoint disabled')),
    );
    const metrics = await Promise.all(
      processes.map(async ({ url }) => (await fetch(`${url}/metrics`)).text()),
    );
    const text = JSON.stringify(processes.map(({ lines }) => lines)) + metrics.join();
    for (const secret of [one.secret, one.receiver.url, 'an-answer-of-the-endpoint'])
      expect(text).not.toContain(secret);
  });
});

describe('webhook endpoints without WEBHOOKS_ALLOW_PRIVATE', () => {
  let world: World;
  beforeAll(async () => (world = await World.start({ workers: 0 })), 180_000);
  afterAll(() => world?.stop());

  it('POST and PATCH /v1/webhook-endpoints refuse private and insecure URLs with 400, and accept public ones', async () => {
    const call = await backendOf(world);
    const types = ['*'];
    const { status, body } = await call('POST', '', { url: 'https://app.example/hooks', types });
    expect(status).toBe(201);
    for (const url of [
      'http://app.example/',
      'https://127.0.0.1/',
      'https://[::1]/',
      'https://[::ffff:10.0.0.1]/',
      'https://169.254.169.254/',
      'https://0.0.0.0/',
      'https://2130706433/',
      'https://0x7f000001/',
      'https://017700000001/',
      'https://localhost/',
      'https://app.example:22/',
    ]) {
      const refused = await call('POST', '', { url, types });
      expect([url, refused.status, refused.body.details[0]]).toEqual([
        url,
        400,
        expect.stringMatching(/^url: must/),
      ]);
      expect((await call('PATCH', `/${body.id}`, { url })).status).toBe(400);
    }
  });

  it('the 51st endpoint is answered with 400', async () => {
    const call = await backendOf(world);
    const { body } = await call<{ items: unknown[] }>('GET');
    for (let count = body.items.length; count < 50; count += 1)
      expect((await call('POST', '', { url: 'https://app.example/', types: ['*'] })).status).toBe(201);
    const refused = await call('POST', '', { url: 'https://app.example/', types: ['*'] });
    expect([refused.status, refused.body.details]).toEqual([
      400,
      ['url: there are 50 endpoints already; delete one first'],
    ]);
  });
});

function bodyFor(method: string, path: string): object | undefined {
  if (path === '/replay') return { from: '2026-01-01T00:00:00Z' };
  return method === 'PATCH' ? { description: 'x' } : undefined;
}
