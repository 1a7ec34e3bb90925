import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { jetstreamManager, type JetStreamManager, type StoredMsg } from '@nats-io/jetstream';
import { connect, type NatsConnection } from '@nats-io/transport-node';
import request from 'supertest';
import { eventually } from '../harness/eventually.js';
import { testEnvironment, type TestEnvironment } from '../harness/environment.js';
import { NatsServer } from '../harness/nats-server.js';
import { ProductProcess } from '../harness/process.js';
import { Proxy } from '../harness/proxy.js';

const KEY = 'an-ingest-key-for-tests';
const SUBJECT = 'athlete-ally.sleep.raw-received';
const night = { userId: 'user-456', date: '2025-10-02', durationMinutes: 420 };

describe('POST /api/v1/ingest/sleep', () => {
  let server: NatsServer;
  let proxy: Proxy;
  let connection: NatsConnection;
  let manager: JetStreamManager;
  let environment: TestEnvironment;
  let api: ProductProcess;
  beforeAll(async () => {
    server = await NatsServer.start();
    proxy = await Proxy.before(server.url);
    environment = await testEnvironment({
      NATS_URL: proxy.url,
      INGEST_API_KEYS: `another-key-for-tests,${KEY}`,
    });
    api = await ProductProcess.start('api', environment.env);
    connection = await connect({ servers: server.url });
    manager = await jetstreamManager(connection);
  });
  afterAll(async () => {
    await api?.stop();
    await connection?.close();
    await proxy?.close();
    await server?.stop();
    await environment?.release();
  });
  beforeEach(() => manager.streams.purge('AA_CORE_HOT'));

  const send = (body: unknown, headers: Record<string, string> = {}) =>
    request(api.url)
      .post('/api/v1/ingest/sleep')
      .set({ 'x-api-key': KEY, 'content-type': 'application/json', ...headers })
      .send(typeof body === 'string' ? body : JSON.stringify(body));
  const stored = async () => (await manager.streams.info('AA_CORE_HOT')).state.messages;
  /** Makes the stream forget message ids. By itself the stream forgets an id after two hours. */
  const forgetIds = async () => {
    const { config } = await manager.streams.info('AA_CORE_HOT');
    await manager.streams.delete('AA_CORE_HOT');
    await manager.streams.add(config);
  };
  const last = async (): Promise<StoredMsg> => {
    const message = await manager.streams.getMessage('AA_CORE_HOT', { last_by_subj: SUBJECT });
    if (!message) throw new Error('nothing is stored');
    return message;
  };

  it('sleep ingest answers 200 with an event id once the stream has the event under this id', async () => {
    const body = { ...night, capturedAt: '2025-10-02T08:30:00Z', raw: { source: 'oura', qualityScore: 85 } };
    const answer = await send(body).expect(200);
    expect(answer.body).toEqual({
      message: expect.any(String),
      eventId: expect.stringMatching(/^[0-9a-f-]{36}$/),
    });
    const message = await last();
    expect(message.json()).toEqual({ eventId: answer.body.eventId, payload: body });
    expect(message.header.get('Nats-Msg-Id')).toBe(answer.body.eventId);
  });

  it('sleep ingest sets capturedAt if the client sends none, and drops unknown fields', async () => {
    await send({ ...night, record: { vendor: 'oura' }, mood: 'fine' }).expect(200);
    const { payload } = (await last()).json<{ payload: Record<string, string> }>();
    expect(payload).toEqual({ ...night, capturedAt: expect.any(String) });
    expect(Math.abs(Date.now() - Date.parse(payload.capturedAt ?? ''))).toBeLessThan(60_000);
  });

  it('sleep ingest stores one event under an Idempotency-Key and answers every attempt with the id of this event', async () => {
    const key = { 'idempotency-key': 'night-1' };
    const answers = [await send(night, key).expect(200), await send(night, key).expect(200)];
    expect(answers[0]?.body.eventId).toBe(answers[1]?.body.eventId);
    expect(await stored()).toBe(1);
  });

  it.each([
    ['another user', { userId: 'user-457' }, {}],
    ['another client', {}, { 'x-api-key': 'another-key-for-tests' }],
  ])(
    'sleep ingest stores a separate event for %s under the same Idempotency-Key',
    async (_, other, headers) => {
      const key = { 'idempotency-key': `night-of-everybody-${Object.keys(other).length}` };
      const first = await send(night, key).expect(200);
      const second = await send({ ...night, ...other }, { ...key, ...headers }).expect(200);
      expect(second.body.eventId).not.toBe(first.body.eventId);
      expect(await stored()).toBe(2);
      // The message id in the stream reveals neither the API key nor the Idempotency-Key.
      expect((await last()).header.get('Nats-Msg-Id')).toMatch(/^ingest:[\w-]{43}$/);
    },
  );

  it('sleep ingest accepts an Idempotency-Key that looks like one of our message ids', async () => {
    await send(night, { 'idempotency-key': 'athlete-ally.sleep.normalized-stored:1' }).expect(200);
  });

  it('sleep ingest stores a UUID in lower case and treats both spellings as the same user', async () => {
    const userId = '7B0C1F8E-2F4C-4A39-9A0D-0D7A5F1C2E11';
    const key = { 'idempotency-key': 'night-of-a-uuid' };
    const upper = await send({ ...night, userId }, key).expect(200);
    const lower = await send({ ...night, userId: userId.toLowerCase() }, key).expect(200);
    expect(lower.body.eventId).toBe(upper.body.eventId);
    expect((await last()).json()).toMatchObject({ payload: { userId: userId.toLowerCase() } });
  });

  it('sleep ingest accepts tomorrow’s date at UTC+14 and answers 400 to a later date', async () => {
    const inHours = (hours: number) => new Date(Date.now() + hours * 3_600_000).toISOString().slice(0, 10);
    await send({ ...night, date: inHours(14 + 24) }).expect(200);
    const { body } = await send({ ...night, date: inHours(14 + 48) }).expect(400);
    expect(body.details).toEqual(['date: Later than tomorrow']);
  });

  it('sleep ingest answers 409 to another night under a used Idempotency-Key', async () => {
    const key = { 'idempotency-key': 'night-2' };
    await send(night, key).expect(200);
    const answer = await send({ ...night, durationMinutes: 421 }, key).expect(409);
    expect(answer.body.details).toEqual(['Idempotency-Key: was sent before with another body']);
  });

  it('sleep ingest gives the same night the same event id, and another night a new id, after the stream has forgotten the key', async () => {
    const key = { 'idempotency-key': 'night-3' };
    const first = await send(night, key).expect(200);
    await forgetIds();
    const again = await send(night, key).expect(200);
    expect(again.body.eventId).toBe(first.body.eventId);
    await forgetIds();
    const other = await send({ ...night, durationMinutes: 421 }, key).expect(200);
    expect(other.body.eventId).not.toBe(first.body.eventId);
  });

  it('sleep ingest scenario 1, invalid date format: 400 with the message of the contract', async () => {
    const { body } = await send({ userId: 'u1', date: '10/02/2025', durationMinutes: 420 }).expect(400);
    expect(body).toMatchObject({ error: 'Validation failed', details: ['date: Invalid date format'] });
    expect(await stored()).toBe(0);
  });

  it('sleep ingest scenario 2, missing durationMinutes: 400 with the message of the contract', async () => {
    const { body } = await send({ userId: 'u1', date: '2025-10-02' }).expect(400);
    expect(body).toMatchObject({ error: 'Validation failed', details: ['durationMinutes: Required'] });
    expect(await stored()).toBe(0);
  });

  const deep = (levels: number): string => `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`;
  const withRaw = (raw: string) => `{"userId":"u","date":"2025-10-02","durationMinutes":1,"raw":${raw}}`;
  const withDuration = (text: string) => `{"userId":"u","date":"2025-10-02","durationMinutes":${text}}`;
  const manyLevels = withRaw(`${'{"abc":'.repeat(20_000)}{"__proto__":1}${'}'.repeat(20_000)}`);
  it.each<[string, unknown]>([
    ['date: Invalid date format', { ...night, date: '2025-02-30' }],
    ['date: Invalid date format', { ...night, date: '2025-13-01' }],
    ['date: Invalid date format', { ...night, date: '0000-01-01' }],
    ['date: Later than tomorrow', { ...night, date: '9999-12-31' }],
    ['date: Expected string, received number', { ...night, date: 20251002 }],
    ['durationMinutes: Number must be greater than or equal to 0', { ...night, durationMinutes: -1 }],
    ['durationMinutes: Expected integer, received float', { ...night, durationMinutes: 7.5 }],
    ['durationMinutes: Number must be less than or equal to 1440', { ...night, durationMinutes: 1e9 }],
    ['durationMinutes: Number must be finite', withDuration('1e400')],
    ['durationMinutes: Expected number, received string', { ...night, durationMinutes: '420' }],
    ['userId: String must contain at least 1 character(s)', { ...night, userId: '' }],
    ['userId: String must not be blank', { ...night, userId: ' \u00a0 ' }],
    ['userId: Invalid characters', { ...night, userId: 'a\u0000b' }],
    ['userId: Required', { ...night, userId: undefined }],
    ['capturedAt: Invalid timestamp, expected ISO 8601 with a time zone', { ...night, capturedAt: 'today' }],
    ['capturedAt: Invalid timestamp', { ...night, capturedAt: '2025-02-30T00:00:00Z' }],
    ['capturedAt: Invalid timestamp', { ...night, capturedAt: '0001-01-01T00:00:00+14:00' }],
    ['raw: Expected object, received array', { ...night, raw: [] }],
    ['raw: Larger than 65536 bytes', { ...night, raw: { text: 'x'.repeat(70_000) } }],
    ['raw: Nested deeper than 32 levels', withRaw(deep(40))],
    ['raw: Nested deeper than 32 levels', withRaw(deep(100_000))],
    ['raw.__proto__: Not allowed', withRaw('{"__proto__":{"x":1}}')],
    [`raw${'.abc'.repeat(49)}.…: Not allowed`, manyLevels],
    ['raw.constructor: Not allowed', withRaw('{"constructor":{"prototype":{"x":1}}}')],
    ['body: Expected object, received array', '[]'],
    ['body: Required', ''],
  ])('sleep ingest answers 400 with "%s" and stores nothing', async (detail, body) => {
    const answer = await send(body).expect(400);
    expect(answer.body.details).toEqual([expect.stringContaining(detail)]);
    expect(await stored()).toBe(0);
  });

  it('sleep ingest answers 400 to malformed JSON and 413 to more than a megabyte', async () => {
    await send('{"userId":').expect(400);
    await send({ ...night, raw: { text: 'x'.repeat(1_100_000) } }).expect(413);
    expect(await stored()).toBe(0);
  });

  it('sleep ingest answers 401 without one of its API keys', async () => {
    await send(night, { 'x-api-key': 'not-a-key-of-ours' }).expect(401);
    await request(api.url).post('/api/v1/ingest/sleep').send(night).expect(401);
    await send(night, { 'x-api-key': 'another-key-for-tests' }).expect(200);
    expect(await stored()).toBe(1);
  });

  it('sleep ingest counts validations and published events by topic', async () => {
    await send(night).expect(200);
    const { text } = await request(api.url).get('/metrics');
    for (const line of [
      'event_bus_events_published_total{topic="sleep_raw_received",status="success"}',
      'event_bus_schema_validation_total{topic="sleep_raw_received",status="attempted"}',
      'event_bus_schema_validation_total{topic="sleep_raw_received",status="success"}',
    ])
      expect(text).toContain(line);
  });

  it.each(['cut', 'freeze'] as const)(
    'sleep ingest answers 500 with Retry-After while NATS is away (%s), and stores the night once after NATS is back',
    async (way) => {
      proxy[way]();
      const startedAt = performance.now();
      const answer = await send(night).expect(500);
      // The api's time-out is below 2 s. The test allows more, because the machine may be busy.
      expect(performance.now() - startedAt).toBeLessThan(4_000);
      expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0);
      proxy.heal();
      // NATS may store an event although its acknowledgement came too late for the answer. The key prevents a second event.
      const key = { 'idempotency-key': `back-${way}` };
      await eventually('200 once NATS is back', async () => (await send(night, key)).status === 200);
      expect(await stored()).toBe(1);
    },
  );
});
