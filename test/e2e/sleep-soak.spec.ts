import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import {
  AckPolicy,
  DeliverPolicy,
  jetstream,
  jetstreamManager,
  type JetStreamManager,
} from '@nats-io/jetstream';
import { connect, type NatsConnection } from '@nats-io/transport-node';
import { type Pool } from 'pg';
import { eventually } from '../harness/eventually.js';
import { testEnvironment, type TestEnvironment } from '../harness/environment.js';
import { NatsServer } from '../harness/nats-server.js';
import { ProductProcess } from '../harness/process.js';
import { queryPool } from '../harness/query-pool.js';

// Some waits of these tests are longer than the usual 90 s of a test.
jest.setTimeout(180_000);

// Run this test with SOAK_EVENTS=100000 before a release.
const EVENTS = Number(process.env.SOAK_EVENTS ?? 10_000);
const DUPLICATES = EVENTS / 10;
const WORKERS = 2;
const KILLS = 4;
const IN_FLIGHT = 500;
const RAW = 'athlete-ally.sleep.raw-received';
const STORED = 'athlete-ally.sleep.normalized-stored';

describe('a soak of sleep events', () => {
  let server: NatsServer;
  let connection: NatsConnection;
  let manager: JetStreamManager;
  let environment: TestEnvironment;
  let pool: Pool;
  const workers: ProductProcess[] = [];
  beforeAll(async () => {
    server = await NatsServer.start();
    environment = await testEnvironment({ NATS_URL: server.url });
    pool = queryPool(environment.env.DATABASE_URL);
    connection = await connect({ servers: server.url });
    manager = await jetstreamManager(connection);
  });
  afterAll(async () => {
    await Promise.all(workers.map((worker) => worker?.stop()));
    await pool?.end();
    await connection?.close();
    await server?.stop();
    await environment?.release();
  });

  const stored = (count: number) =>
    eventually(
      `${count} nights`,
      async () => {
        const { rows } = await pool.query<{ nights: number }>(
          'select count(*)::int as nights from sleep_data',
        );
        return (rows[0]?.nights ?? 0) >= count;
      },
      120_000,
    );
  const startWorker = async () => workers.push(await ProductProcess.start('worker', environment.env));

  it(`${EVENTS} nights are each stored and published once although a tenth is sent twice and ${KILLS} workers are killed`, async () => {
    for (let count = 0; count < WORKERS; count += 1) await startWorker();
    const published = publishAll(connection);
    for (let kill = 0; kill < KILLS; kill += 1) {
      // The number of stored nights decides when a worker is killed, so the kills are spread over the whole run on any machine.
      await stored(((kill + 1) * EVENTS) / (KILLS + 2));
      const worker = workers.shift();
      worker?.signal('SIGKILL');
      await Promise.all([worker?.exited(), startWorker()]);
    }
    await published;
    await eventually(
      'all settled',
      async () => {
        const { num_ack_pending, num_pending } = await manager.consumers.info(
          'AA_CORE_HOT',
          'normalize-sleep-durable',
        );
        return num_ack_pending === 0 && num_pending === 0;
      },
      180_000,
    );

    const { rows } = await pool.query<{ event_id: string }>('select event_id from sleep_data');
    expectEach(rows.map(({ event_id }) => event_id));
    expectEach(await publishedEvents());
    expect((await manager.streams.info('AA_DLQ')).state.messages).toBe(0);
  }, 400_000);

  /** The event ids of all published nights. */
  async function publishedEvents(): Promise<string[]> {
    await manager.consumers.add('AA_CORE_HOT', {
      durable_name: 'oracle',
      filter_subject: STORED,
      ack_policy: AckPolicy.None,
      deliver_policy: DeliverPolicy.All,
    });
    const consumer = await jetstream(connection).consumers.get('AA_CORE_HOT', 'oracle');
    const ids: string[] = [];
    let { num_pending: pending } = await consumer.info();
    while (pending > 0)
      for await (const message of await consumer.fetch({
        max_messages: Math.min(pending, 5_000),
        expires: 5_000,
      })) {
        ids.push((message.headers?.get('Nats-Msg-Id') ?? '').replace(`${STORED}:`, ''));
        pending -= 1;
      }
    return ids;
  }
});

/** Publishes a tenth of the events once more under another message id, so that the stream does not drop them. */
async function publishAll(connection: NatsConnection): Promise<void> {
  const js = jetstream(connection);
  let next = 0;
  const work = async () => {
    for (let n = next++; n < EVENTS + DUPLICATES; n = next++) {
      const id = n < EVENTS ? n : (n - EVENTS) * 10;
      const payload = {
        userId: `user-${id}`,
        date: '2025-10-02',
        durationMinutes: id % 600,
        capturedAt: '2025-10-02T08:00:00Z',
      };
      await js.publish(RAW, JSON.stringify({ eventId: `event-${id}`, payload }), { msgID: `message-${n}` });
    }
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, work));
}

/** Expects each event id exactly once. */
function expectEach(ids: readonly string[]): void {
  const counts = new Map<string, number>();
  for (const id of ids) counts.set(id, (counts.get(id) ?? 0) + 1);
  const wrong = Array.from({ length: EVENTS }, (_, n) => `event-${n}`).filter((id) => counts.get(id) !== 1);
  expect(wrong).toEqual([]);
  expect(ids).toHaveLength(EVENTS);
}
