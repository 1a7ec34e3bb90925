import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { jetstreamManager, type JetStreamManager } from '@nats-io/jetstream';
import { type NatsConnection } from '@nats-io/transport-node';
import { eventually } from '../harness/eventually.js';
import { NatsServer } from '../harness/nats-server.js';
import { Proxy } from '../harness/proxy.js';
import { CLIENT } from '../harness/simulator.js';
import { World } from '../harness/world.js';
import { connectNats } from '../../libs/platform/src/nats/connect.js';

const KEY = 'an-ingest-key-for-tests';
const DATE = new Date(Date.now() - 8 * 86_400_000).toISOString().slice(0, 10);
const DURABLE = 'normalize-sleep-durable';

describe('every consumer of the sleep pipeline while its worker cannot reach a server', () => {
  let nats: NatsServer;
  let apiNats: Proxy;
  let world: World;
  let connection: NatsConnection;
  let manager: JetStreamManager;
  let proxies: Record<'postgres' | 'redis' | 'nats', Proxy>;
  let people: Record<'oura' | 'whoop', { athlete: string; vendorId: string }>;
  beforeAll(async () => {
    nats = await NatsServer.start();
    apiNats = await Proxy.before(nats.url);
    world = await World.start({
      timeScale: 1,
      workers: 0,
      env: { NATS_URL: apiNats.url, INGEST_API_KEYS: KEY },
    });
    const { DATABASE_URL, REDIS_URL } = world.env;
    proxies = {
      postgres: await Proxy.before(DATABASE_URL ?? ''),
      redis: await Proxy.before(REDIS_URL ?? ''),
      nats: await Proxy.before(nats.url),
    };
    await world.startWorker({
      DATABASE_URL: proxies.postgres.url,
      REDIS_URL: proxies.redis.url,
      NATS_URL: proxies.nats.url,
    });
    connection = await connectNats(nats.url, 'test');
    manager = await jetstreamManager(connection);
    await eventually('subscriptions at Oura', async () => {
      const answer = await fetch(`${world.simulator.url}/oura/v2/webhook/subscription`, {
        headers: { 'x-client-id': CLIENT.id, 'x-client-secret': CLIENT.secret },
      });
      return ((await answer.json()) as unknown[]).length === 6;
    });
    await world.control('POST', 'webhooks', { vendor: 'whoop', url: `${world.api.url}/webhooks/whoop` });
    people = { oura: await connected('oura'), whoop: await connected('whoop') };
  });
  afterAll(async () => {
    await connection?.close();
    await world?.stop();
    await Promise.all([apiNats, ...Object.values(proxies)].map((proxy) => proxy.close()));
    await nats?.stop();
  });

  const connected = async (provider: string) => {
    const athlete = randomUUID();
    const { id } = await world.control<{ id: string }>('POST', 'athletes', {
      provider,
      activities: 1,
      nights: 1,
    });
    await world.connect(athlete, id, provider);
    return { athlete, vendorId: id };
  };
  const consumer = () => manager.consumers.info('AA_CORE_HOT', DURABLE);
  const minutesOf = async (userId: string) => {
    const [night] = await world.rows<{ duration_minutes: number }>(
      'select duration_minutes from sleep_data where user_id = $1 and date = $2',
      [userId, DATE],
    );
    return night?.duration_minutes;
  };
  /** Sends a night in each of the three ways: ingest, Oura and WHOOP. Returns the users of these nights. */
  const sleep = async (minutes: number): Promise<string[]> => {
    const client = randomUUID();
    const answer = await fetch(`${world.api.url}/api/v1/ingest/sleep`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-api-key': KEY },
      body: JSON.stringify({ userId: client, date: DATE, durationMinutes: minutes }),
    });
    expect(answer.status).toBe(200);
    for (const { vendorId } of Object.values(people))
      await world.control('POST', 'sleep', { athlete_id: vendorId, date: DATE, duration_minutes: minutes });
    return [client, people.oura.athlete, people.whoop.athlete];
  };
  const expectNothingLost = async (sleepers: string[], minutes: number) => {
    for (const userId of sleepers)
      await eventually(
        `the night of ${userId}`,
        async () => ((await minutesOf(userId)) ?? 0) >= minutes,
        60_000,
      );
    await eventually('all settled', async () => {
      const { num_ack_pending, num_pending } = await consumer();
      return num_ack_pending + num_pending === 0;
    });
    await eventually('all events handled', async () => {
      const waiting = await world.rows('select 1 from webhook_event where processed_at is null');
      return waiting.length === 0;
    });
    expect(await world.rows("select 1 from webhook_event where outcome = 'set_aside'")).toEqual([]);
    expect((await manager.streams.info('AA_DLQ')).state.messages).toBe(0);
  };

  it('the sleep consumer holds its messages at the first delivery while Postgres is away, and every night is stored then', async () => {
    await expectNothingLost(await sleep(300), 300);
    proxies.postgres.cut();
    const sleepers = await sleep(310);
    await eventually('the consumer holds a message', async () => (await consumer()).num_ack_pending > 0);
    const before = proxies.postgres.connectionCount;
    await eventually('many tries', () => proxies.postgres.connectionCount > before + 20, 60_000);
    expect(await consumer()).toMatchObject({ num_redelivered: 0 });
    proxies.postgres.heal();
    await expectNothingLost(sleepers, 310);
  });

  it('nights sent while the worker cannot reach Redis are stored once Redis is back, without a dead letter', async () => {
    proxies.redis.cut();
    const sleepers = await sleep(320);
    await eventually('a try', () => proxies.redis.connectionCount > 10, 60_000);
    proxies.redis.heal();
    await expectNothingLost(sleepers, 320);
  });

  it('nights sent while the worker cannot reach NATS are stored once NATS is back, without a dead letter', async () => {
    proxies.nats.cut();
    const before = proxies.nats.connectionCount;
    const sleepers = await sleep(330);
    await eventually(
      'the worker reconnects to NATS',
      () => proxies.nats.connectionCount > before + 5,
      60_000,
    );
    proxies.nats.heal();
    await expectNothingLost(sleepers, 330);
  });

  it('events of Oura and WHOOP are answered 200 and kept while the api cannot reach NATS', async () => {
    apiNats.cut();
    for (const { vendorId } of Object.values(people))
      await world.control('POST', 'sleep', { athlete_id: vendorId, date: DATE, duration_minutes: 340 });
    for (const { athlete } of Object.values(people))
      await eventually('the night', async () => (await minutesOf(athlete)) === 340, 60_000);
    apiNats.heal();
  });
});
