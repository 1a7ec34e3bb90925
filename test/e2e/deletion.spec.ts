import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import { connect, headers, type NatsConnection } from '@nats-io/transport-node';
import { Redis } from 'ioredis';
import { type Provider, Vault } from '#connections';
import { tokenPlace } from '../../libs/connections/src/connection-store.js';
import { tokenFor } from '../harness/environment.js';
import { eventually } from '../harness/eventually.js';
import { NatsServer } from '../harness/nats-server.js';
import { type ProductProcess } from '../harness/process.js';
import { Remains } from '../harness/remains.js';
import { required } from '../harness/servers.js';
import { type ReceiptBody, World } from '../harness/world.js';

const KEY = 'an-ingest-key-for-tests';
const RAW = 'athlete-ally.sleep.raw-received';
const DEAD = 'dlq.normalize.sleep.raw-received.max-deliver';

describe('a person who deletes their account', () => {
  const subject = `runner-${randomUUID()}`;
  let server: NatsServer;
  let connection: NatsConnection;
  let redis: Redis;
  let world: World;
  let names: string[];
  /** The subject, the accounts and tokens at the vendors, and the activities' names: docs/deletion.md allows none of them in a log. */
  let unlogged: string[];
  let old: string;
  beforeAll(async () => {
    server = await NatsServer.start();
    const env = { NATS_URL: server.url, INGEST_API_KEYS: KEY, DLQ_RETENTION_DAYS: '30' };
    world = await World.start({ env });
    connection = await connect({ servers: server.url, maxReconnectAttempts: -1, reconnectTimeWait: 250 });
    redis = new Redis(required('REDIS_URL'));
  }, 120_000);
  afterAll(async () => {
    redis.disconnect();
    await connection?.close();
    await world?.stop();
    await server?.stop();
  });

  const ingest = async (date: string) => {
    const body = JSON.stringify({ userId: subject, date, durationMinutes: 433, raw: { source: 'oura' } });
    const answer = await fetch(`${world.api.url}/api/v1/ingest/sleep`, {
      method: 'POST',
      headers: { 'x-api-key': KEY, 'content-type': 'application/json' },
      body,
    });
    expect(answer.status).toBe(200);
  };
  const publish = (to: string, text: string, more: Readonly<Record<string, string>> = {}) => {
    const all = headers();
    for (const [name, value] of Object.entries(more)) all.set(name, value);
    return jetstream(connection).publish(to, text, { headers: all });
  };
  const count = async (statement: string) => (await world.rows(statement)).length;
  const receipt = async (id: string) =>
    (await (await fetch(`${world.api.url}/v1/receipts/${id}`)).json()) as ReceiptBody;

  /** The vendors' tokens of the athlete's connections. */
  const vendorTokens = async () => {
    const vault = new Vault([{ version: 1, key: Buffer.alloc(32, 7) }]);
    const rows = await world.rows<{
      athlete_id: string;
      provider: Provider;
      access_token: string;
      refresh_token: string;
    }>('select athlete_id, provider, access_token, refresh_token from connection');
    return rows.flatMap(({ athlete_id, provider, ...sealed }) =>
      (['access_token', 'refresh_token'] as const).map((column) =>
        vault.open(sealed[column], tokenPlace(athlete_id, provider, column)),
      ),
    );
  };
  const linesOf = (processes: readonly ProductProcess[]) =>
    processes.flatMap(({ lines }) => lines.map((line) => JSON.stringify(line)));

  const mentioning = () => new Remains(world, redis, connection).mentioning(names);
  const places = async () => [...new Set((await mentioning()).map(({ where }) => where))].sort();

  it('tables, Redis and NATS streams have data of the person before the deletion', async () => {
    const strava = await world.vendorAthlete(4);
    const { id: oura } = await world.control<{ id: string }>('POST', 'athletes', {
      provider: 'oura',
      activities: 1,
      nights: 3,
    });
    await world.connect(subject, strava);
    await world.connect(subject, oura, 'oura');
    for (const date of ['2025-10-01', '2025-10-02']) await ingest(date);
    await publish(RAW, JSON.stringify({ eventId: 'malformed', payload: { userId: subject } }));
    old = JSON.stringify({
      eventId: randomUUID(),
      payload: { userId: subject, date: '2025-10-03', durationMinutes: 434 },
    });
    await publish(DEAD, old, { 'dlq-subject': RAW, 'dlq-reason': 'max-deliver' });
    const { body: me } = await world.call<{ athlete_id: string }>(subject, 'GET', '/v1/me');
    names = [subject, me.athlete_id, strava, oura];
    unlogged = [subject, strava, oura];
    await eventually('a webhook event of Oura', async () => {
      await world.control('POST', 'sleep', { athlete_id: oura, date: '2025-10-05', duration_minutes: 433 });
      return (await count("select 1 from webhook_event where vendor = 'oura' and outcome = 'applied'")) > 0;
    });
    await eventually(
      'activities, their streams and nights',
      async () =>
        (await count('select 1 from activity_stream')) >= 4 &&
        (await count('select 1 from sleep_data')) >= 5 &&
        (await count('select 1 from processed_activities')) >= 1,
      180_000,
    );
    const ids = await world.rows<{ id: string }>(
      `select id::text from activity union select external_activity_id from activity
       union select record_id from sleep_session where source = 'oura'
       union select id::text from connection union select job_id::text from jobs`,
    );
    names.push(...ids.map(({ id }) => id));
    const titles = await world.rows<{ name: string }>('select distinct name from activity');
    unlogged.push(...(await vendorTokens()), ...titles.map(({ name }) => name));
    expect(unlogged.length).toBeGreaterThan(3 + 2 * 2);
    expect(await places()).toEqual(
      expect.arrayContaining([
        ...['activity', 'athlete', 'connection', 'sleep_session', 'webhook_event'],
        ...[
          RAW,
          DEAD,
          'change',
          'athlete-ally.changes.activity.created',
          'athlete-ally.changes.sleep.stored',
        ],
      ]),
    );
  }, 300_000);

  it('the receipt stays pending while NATS is away, and after its completion the person is found only where docs/deletion.md says', async () => {
    await server.kill();
    const { body } = await world.call<{ receipt_id: string }>(subject, 'DELETE', '/v1/account');
    await eventually('the rows are gone', async () => (await count('select 1 from athlete')) === 0, 120_000);
    expect((await receipt(body.receipt_id)).status).toBe('pending');
    await server.start();
    const { deleted } = await eventually(
      'the receipt',
      async () => {
        const now = await receipt(body.receipt_id);
        return now.status === 'completed' ? now : undefined;
      },
      120_000,
    );
    expect(deleted).toMatchObject({ activities: 4, sleep_ingested: 2 });
    expect(deleted.sleep_oura).toBeGreaterThan(3);
    expect(deleted.webhook_events).toBeGreaterThan(0);
    // Changes about the person: at least 2 connections, 4 activities and their streams, 5 nights.
    expect(deleted.changes).toBeGreaterThanOrEqual(2 + 4 + 4 + 5);
    expect(deleted.change_messages).toBeGreaterThanOrEqual(2 + 4 + 4 + 5);
    // Messages about the person: 2 ingested, 3 of Oura, 1 malformed, 5 stored nights, 2 dead letters.
    expect(deleted.sleep_messages).toBeGreaterThanOrEqual(2 + 3 + 1 + 5 + 2);
    // The grants at the vendors are revoked in the background.
    await eventually(
      'no revocation waits',
      async () => (await count('select 1 from revocation')) === 0,
      60_000,
    );
    const left = await eventually(
      'the stored counts are summed up',
      async () => {
        const found = await mentioning();
        return found.some(({ where }) => where.startsWith('stream_count')) ? undefined : found;
      },
      60_000,
    );
    const allowed = [
      'receipt',
      'sleep_erasure',
      'athlete-ally.sleep.removed',
      'redis throttle',
      'redis prompt',
    ];
    const isAthleteDeleted = ({ where, content }: { where: string; content: string }) =>
      where === 'athlete-ally.changes.athlete.deleted' ||
      (where.startsWith('change') && content.includes('"type": "athlete.deleted"'));
    expect(left.filter((found) => !allowed.includes(found.where) && !isAthleteDeleted(found))).toEqual([]);
    for (const { content } of left.filter(isAthleteDeleted)) expect(content).toMatch(/"data": ?null/);
    for (const { where, content } of left)
      if (where === 'athlete-ally.sleep.removed') expect(content).not.toMatch(/\b433\b|duration/);
    const [row] = await world.rows<object>('select subject, accounts from receipt');
    expect(row).toEqual({ subject: null, accounts: {} });
  }, 300_000);

  it('old dead letters, old messages and an app that sends again do not restore data of a deleted person', async () => {
    const admin = { authorization: `Bearer ${await tokenFor('operator', { role: 'admin' })}` };
    // These messages stand for a restored backup of NATS. Each has the time at which it was received.
    const before = new Date(Date.now() - 20 * 86_400_000).toISOString();
    await publish(DEAD, old, { 'dlq-subject': RAW, 'received-at': before });
    await publish(RAW, old, { 'received-at': before });
    await ingest('2025-10-04');
    await world.rows(
      "update sleep_erasure set erased_at = erased_at - interval '10 days', received_until = received_until - interval '10 days'",
    );
    const { body } = await world.call<{ items: Array<{ seq: number }> }>(
      'operator',
      'GET',
      '/admin/dlq',
      undefined,
      admin,
    );
    for (const { seq } of body.items)
      await world.call('operator', 'POST', `/admin/dlq/${seq}/replay`, undefined, admin);
    const manager = await jetstreamManager(connection);
    await eventually('all settled', async () => {
      const info = await manager.consumers.info('AA_CORE_HOT', 'normalize-sleep-durable');
      return info.num_pending === 0 && info.num_ack_pending === 0;
    });
    expect(await count('select 1 from sleep_session union all select 1 from sleep_untold')).toBe(0);
    expect(await count('select 1 from athlete')).toBe(1);
    const again = await world.call<{ receipt_id: string }>(subject, 'DELETE', '/v1/account');
    expect(again.status).toBe(202);
    expect(await count('select 1 from receipt')).toBe(1);
  }, 120_000);

  it('no log line of the api or the worker, before, during and after the deletion, has the subject, an activity’s name, a vendor’s account or a token', () => {
    const lines = linesOf([world.api, ...world.workers]);
    expect(lines.some((line) => line.includes('deletion completed'))).toBe(true);
    const word = (text: string) =>
      new RegExp(`(?<![0-9A-Za-z])${text.replace(/[^\w\s]/g, '\\$&')}(?![0-9A-Za-z])`);
    // A bearer token begins with `eyJ`.
    const found = [...unlogged.map(word), /\beyJ/].flatMap((text) => lines.filter((line) => text.test(line)));
    expect(found).toEqual([]);
  });
});
