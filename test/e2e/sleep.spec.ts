import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { jetstream, jetstreamManager, type JetStreamManager, type StoredMsg } from '@nats-io/jetstream';
import { connect, type NatsConnection } from '@nats-io/transport-node';
import { type Pool } from 'pg';
import request from 'supertest';
import { eventually } from '../harness/eventually.js';
import { testEnvironment, tokenFor, type TestEnvironment } from '../harness/environment.js';
import { NatsServer } from '../harness/nats-server.js';
import { ProductProcess } from '../harness/process.js';
import { Proxy } from '../harness/proxy.js';
import { queryPool } from '../harness/query-pool.js';

// Some waits of these tests are longer than the usual 90 s of a test.
jest.setTimeout(180_000);

const KEY = 'an-ingest-key-for-tests';
const RAW = 'athlete-ally.sleep.raw-received';
const STORED = 'athlete-ally.sleep.normalized-stored';
const REMOVED = 'athlete-ally.sleep.removed';
const DURABLE = 'normalize-sleep-durable';

describe('sleep, from a request to a night', () => {
  let server: NatsServer;
  let connection: NatsConnection;
  let manager: JetStreamManager;
  let environment: TestEnvironment;
  let api: ProductProcess;
  let pool: Pool;
  const workers: ProductProcess[] = [];
  beforeAll(async () => {
    server = await NatsServer.start();
    environment = await testEnvironment({ NATS_URL: server.url, INGEST_API_KEYS: KEY });
    api = await ProductProcess.start('api', environment.env);
    connection = await connect({ servers: server.url });
    manager = await jetstreamManager(connection);
    pool = queryPool(environment.env.DATABASE_URL, 2);
  });
  afterAll(async () => {
    await api?.stop();
    await pool?.end();
    await connection?.close();
    await server?.stop();
    await environment?.release();
  });
  beforeEach(async () => {
    for (const stream of ['AA_CORE_HOT', 'AA_DLQ']) await manager.streams.purge(stream);
  });
  afterEach(async () => {
    await Promise.all(workers.splice(0).map((worker) => worker.stop()));
  });

  const startWorker = async (env: Record<string, string> = {}) => {
    const worker = await ProductProcess.start('worker', { ...environment.env, ...env });
    workers.push(worker);
    return worker;
  };
  const kill = async (worker: ProductProcess) => {
    worker.signal('SIGKILL');
    await worker.exited();
    workers.splice(workers.indexOf(worker), 1);
  };
  const ingest = async (body: object) => {
    const answer = await request(api.url).post('/api/v1/ingest/sleep').set('x-api-key', KEY).send(body);
    expect(answer.status).toBe(200);
    return (answer.body as { eventId: string }).eventId;
  };
  const as = async (subject: string, method: 'get' | 'post' | 'delete', path: string, claims = {}) =>
    request(api.url)
      [method](path)
      .set('authorization', `Bearer ${await tokenFor(subject, claims)}`);
  const nights = async (subject: string, query = '') =>
    ((await as(subject, 'get', `/v1/sleep${query}`)).body as { items: Array<{ date: string }> }).items;
  const events = async (subject: string) => {
    const all: StoredMsg[] = [];
    for (let seq = 1; ;) {
      const next = { seq, next_by_subj: subject };
      const message = await manager.streams.getMessage('AA_CORE_HOT', next).catch(() => null);
      if (!message) return all;
      all.push(message);
      seq = message.seq + 1;
    }
  };
  const settled = () =>
    eventually(
      'all settled',
      async () => {
        const { num_ack_pending, num_pending } = await manager.consumers.info('AA_CORE_HOT', DURABLE);
        return num_ack_pending === 0 && num_pending === 0;
      },
      90_000,
    );
  const rows = async (text: string) => (await pool.query<Record<string, unknown>>(text)).rows;

  it('GET /v1/sleep lists only the athlete’s own nights in a span of dates, newest first', async () => {
    await startWorker();
    const dates = ['2025-09-30', '2025-10-01', '2025-10-02'];
    for (const date of dates)
      await ingest({
        userId: 'sleeper',
        date,
        durationMinutes: 400,
        capturedAt: `${date}T08:00:00Z`,
        raw: { source: 'whoop', qualityScore: 150 },
      });
    await settled();
    expect((await nights('sleeper')).map(({ date }) => date)).toEqual([...dates].reverse());
    expect(await nights('sleeper', '?from=2025-10-01&to=2025-10-01')).toEqual([
      {
        date: '2025-10-01',
        duration_minutes: 400,
        quality_score: 100,
        vendor: 'whoop',
        captured_at: '2025-10-01T08:00:00.000Z',
      },
    ]);
    const first = await as('sleeper', 'get', '/v1/sleep?limit=2');
    expect(first.body.next_cursor).toBe('2025-10-01');
    expect(await nights('sleeper', '?limit=2&cursor=2025-10-01')).toHaveLength(1);
    expect(await nights('somebody-else')).toEqual([]);
    expect((await as('sleeper', 'get', '/v1/sleep?from=2025-02-30')).status).toBe(400);
    expect((await request(api.url).get('/v1/sleep')).status).toBe(401);
  });

  it('the deletion of an account removes its nights, including a night still in the stream, and publishes the removal of the stored night', async () => {
    const worker = await startWorker();
    const night = { userId: 'leaver', date: '2025-10-01', durationMinutes: 400 };
    await ingest(night);
    await settled();
    expect(await nights('leaver')).toHaveLength(1);
    const archive = await as('leaver', 'get', '/v1/account/export');
    expect(archive.status).toBe(200);
    // A second night is in the stream while no worker runs.
    await worker.stop();
    workers.splice(0);
    await ingest({ ...night, date: '2025-10-02' });
    const leaving = (await as('leaver', 'delete', '/v1/account')).body as { receipt_id: string };
    await startWorker();
    const receipt = await eventually('the receipt', async () => {
      const answer = await request(api.url).get(`/v1/receipts/${leaving.receipt_id}`);
      const now = answer.body as { status: string; deleted: object };
      return now.status === 'completed' ? now : undefined;
    });
    expect(receipt.deleted).toMatchObject({ sleep_oura: 0, sleep_whoop: 0 });
    await settled();
    // If the deletion comes before the worker, the second night is refused. Otherwise it is stored and then deleted.
    await eventually(
      'nothing is left',
      async () =>
        (
          await rows(
            "select 1 from sleep_session where user_id = 'leaver' union all select 1 from sleep_data where user_id = 'leaver'",
          )
        ).length === 0,
    );
    const removed = { record: { userId: 'leaver', date: '2025-10-01' } };
    await eventually(
      'the removal is published',
      async () =>
        (await events(REMOVED)).some((event) => JSON.stringify(event.json()) === JSON.stringify(removed)),
      60_000,
    );
  });

  describe('dead letters', () => {
    const admin = { role: 'admin' };
    const dead = async () =>
      ((await as('operator', 'get', '/admin/dlq', admin)).body as { items: Array<{ seq: number }> }).items;
    const malformed = (n: number) =>
      jetstream(connection).publish(RAW, JSON.stringify({ eventId: `dead-${n}`, payload: {} }));

    it('dead letters are listed, shown, replayed and discarded by operators only, and each action is recorded', async () => {
      await startWorker();
      for (const n of [1, 2, 3]) await malformed(n);
      await eventually('three of them', async () => (await dead()).length === 3);
      const [one, two] = await dead();
      expect(one).toEqual({
        seq: expect.any(Number),
        subject: 'dlq.normalize.sleep.raw-received.schema-invalid',
        reason: 'schema-invalid',
        attempts: 1,
        error: expect.stringContaining('payload.userId: Required'),
        at: expect.any(String),
        headers: expect.objectContaining({
          'dlq-subject': ['athlete-ally.sleep.raw-received'],
          'dlq-attempts': ['1'],
        }),
        payload: { eventId: 'dead-1', payload: {} },
      });
      expect((await as('operator', 'get', `/admin/dlq/${one?.seq}`, admin)).body).toEqual(one);
      expect((await as('operator', 'get', '/admin/dlq/999999', admin)).status).toBe(404);
      expect((await as('athlete', 'get', '/admin/dlq')).status).toBe(403);
      const page = await as('operator', 'get', '/admin/dlq?limit=2', admin);
      expect(page.body.next_cursor).toBe(String(two?.seq));

      expect((await as('operator', 'delete', `/admin/dlq/${one?.seq}`, admin)).status).toBe(200);
      expect((await as('operator', 'post', `/admin/dlq/${two?.seq}/replay`, admin)).status).toBe(200);
      // The cause is not fixed, so the replayed message becomes a dead letter again, with a new sequence.
      await eventually('the replayed dead letter is back', async () => {
        const now = await dead();
        return now.length === 2 && now.every(({ seq }) => seq !== two?.seq);
      });
      expect(await rows('select actor, action, target from operator_action order by id')).toEqual([
        { actor: 'operator', action: 'dlq.discard', target: String(one?.seq) },
        { actor: 'operator', action: 'dlq.replay', target: String(two?.seq) },
      ]);
      const order = async (action: string, body: object | undefined, as = admin) =>
        request(api.url)
          .post(`/admin/dlq/${action}`)
          .set('authorization', `Bearer ${await tokenFor('operator', as)}`)
          .send(body);
      const { text } = await request(workers[0]?.url ?? '').get('/metrics');
      expect(text).toContain('dlq_messages{reason="schema-invalid"} 2');
      expect(text).toMatch(
        /normalize_sleep_messages_total\{result="schema_invalid",subject="athlete-ally.sleep.raw-received",stream="AA_CORE_HOT",durable="normalize-sleep-durable"\} 4/,
      );

      expect((await order('discard', {}, { role: 'athlete' })).status).toBe(403);
      for (const body of [{ reasn: 'x' }, { seqs: [] }, { seqs: [0] }, { reason: 1 }])
        expect((await order('discard', body)).status).toBe(400);
      expect(await dead()).toHaveLength(2);
      expect(await order('discard', { reason: 'max-deliver' })).toMatchObject({
        status: 202,
        body: { matched: 0 },
      });
      expect((await order('replay', { reason: 'schema-invalid' })).body).toEqual({ matched: 2 });
      // The replayed messages become dead letters again. This replay does not match their new sequences.
      await eventually('both are new', async () => {
        const now = await dead();
        return now.length === 2 && now.every(({ seq }) => seq > Number(two?.seq) + 2);
      });
      expect((await order('discard', undefined)).body).toEqual({ matched: 2 });
      await eventually('none is left', async () => (await dead()).length === 0);
      expect((await as('operator', 'get', '/admin/dlq', admin)).body).toEqual({
        items: [],
        next_cursor: null,
        counts: {},
      });
    });
  });

  describe('a worker that is killed', () => {
    const night = { date: '2025-10-02', durationMinutes: 420 };

    it('a night whose worker is killed between the upsert and the publication is published by another worker', async () => {
      const proxy = await Proxy.before(server.url);
      const worker = await startWorker({ NATS_URL: proxy.url });
      const client = await pool.connect();
      await client.query('begin; lock table sleep_session in share mode');
      const eventId = await ingest({ ...night, userId: 'half-way' });
      await eventually(
        'the upsert waits',
        async () =>
          // A table has the same number in each clone of the template.
          (
            await rows(`
              select 1
              from pg_locks
              join pg_stat_activity using (pid)
              where relation = 'sleep_session'::regclass and not granted and datname = current_database()`)
          ).length > 0,
      );
      // From here on the worker can store nights, but cannot publish them.
      proxy.cut();
      await client.query('commit');
      client.release();
      await eventually(
        'the night is stored',
        async () => (await rows("select 1 from sleep_data where user_id = 'half-way'")).length === 1,
      );
      await kill(worker);
      expect(await events(STORED)).toEqual([]);

      await startWorker();
      await settled();
      expect((await events(STORED)).map((event) => event.header.get('Nats-Msg-Id'))).toEqual([
        `${STORED}:${eventId}`,
      ]);
      await proxy.close();
    });

    it('a night whose worker is killed between the publication and the ack is published once', async () => {
      const proxy = await Proxy.before(server.url);
      const worker = await startWorker({ NATS_URL: proxy.url });
      proxy.swallow('$JS.ACK.AA_CORE_HOT');
      const eventId = await ingest({ ...night, userId: 'published' });
      await eventually('the night is published', async () => (await events(STORED)).length === 1);
      await eventually('an ack is swallowed', () => proxy.swallowed > 0);
      await kill(worker);

      await startWorker();
      await settled();
      expect((await events(STORED)).map((event) => event.header.get('Nats-Msg-Id'))).toEqual([
        `${STORED}:${eventId}`,
      ]);
      expect(await rows("select event_id from sleep_data where user_id = 'published'")).toEqual([
        { event_id: eventId },
      ]);
      await proxy.close();
    });
  });
});
