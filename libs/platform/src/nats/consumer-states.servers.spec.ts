import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { AckPolicy, jetstream, jetstreamManager } from '@nats-io/jetstream';
import { type NatsConnection } from '@nats-io/transport-node';
import { eventually } from '../../../../test/harness/eventually.js';
import { NatsServer } from '../../../../test/harness/nats-server.js';
import { connectNats } from './connect.js';
import { ConsumerStates } from './consumer-states.js';

const STREAM = 'S';
const durables = ['quiet', 'pulled', 'missing'].map((durable) => ({ stream: STREAM, durable }));

let nats: NatsServer;
let connection: NatsConnection;
let isUp = true;
let states: ConsumerStates;
beforeAll(async () => {
  nats = await NatsServer.start();
  connection = await connectNats(nats.url, 'test');
  states = new ConsumerStates(connection, { isUp: () => isUp });
  const manager = await jetstreamManager(connection);
  await manager.streams.add({ name: STREAM, subjects: ['s.>'] });
  const add = (durable_name: string, filter_subject: string) =>
    manager.consumers.add(STREAM, { durable_name, filter_subject, ack_policy: AckPolicy.Explicit });
  await add('quiet', 's.some');
  await add('pulled', 's.none');
});
afterAll(async () => {
  await connection.close();
  await nats.stop();
});

it('ConsumerStates reports consumers that nobody pulls from and consumers that do not exist, but none that is pulled from', async () => {
  await jetstream(connection).publish('s.some', 'a message');
  const consumer = await jetstream(connection).consumers.get(STREAM, 'pulled');
  const pull = await consumer.fetch({ max_messages: 1, expires: 30_000 });
  const end = (async () => {
    for await (const message of pull) message.ack();
  })();
  await eventually('the pull waits at NATS', async () => (await consumer.info()).num_waiting > 0);
  const found = await states.silentOf(durables);
  expect(found).toEqual([
    { consumer: 'quiet', stream: STREAM, waiting: 1, unsettled: 0, last_active_at: null },
    { consumer: 'missing', stream: STREAM, waiting: 0, unsettled: 0, last_active_at: null },
  ]);
  await pull.close();
  await end;
  // Another leader of the consumer forgets the pulls as well, and the workers pull again some seconds later.
  await eventually('the pull is gone', async () => (await consumer.info()).num_waiting === 0);
  expect(await states.silentOf([{ stream: STREAM, durable: 'pulled' }])).toEqual([]);
});

it('ConsumerStates does not report a consumer that was active within the last 30 s', async () => {
  const consumer = await jetstream(connection).consumers.get(STREAM, 'quiet');
  const message = await consumer.next({ expires: 5_000 });
  expect(message).not.toBeNull();
  expect(await states.silentOf([{ stream: STREAM, durable: 'quiet' }])).toEqual([]);
});

it('ConsumerStates reports a consumer that is pulled from on demand only while messages wait for it', async () => {
  const manager = await jetstreamManager(connection);
  const consumer = { durable_name: 'on-demand', filter_subject: 's.rare', ack_policy: AckPolicy.Explicit };
  await manager.consumers.add(STREAM, consumer);
  const onDemand = [{ stream: STREAM, durable: 'on-demand', isOnDemand: true }];
  expect(await states.silentOf(onDemand)).toEqual([]);
  await jetstream(connection).publish('s.rare', 'a message');
  // A worker has 30 s to pull.
  expect(await states.silentOf(onDemand)).toEqual([]);
  const others = new ConsumerStates(connection, { isUp: () => true });
  expect(await others.silentOf(onDemand)).toMatchObject([{ consumer: 'on-demand', waiting: 1 }]);
});

it('ConsumerStates answers undefined while NATS is away', async () => {
  isUp = false;
  expect(await states.silentOf(durables)).toBeUndefined();
});
