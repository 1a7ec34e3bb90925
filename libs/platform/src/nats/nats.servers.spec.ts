import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  AckPolicy,
  DiscardPolicy,
  jetstream,
  jetstreamManager,
  type JetStreamManager,
} from '@nats-io/jetstream';
import { nanos, type NatsConnection } from '@nats-io/transport-node';
import { z } from 'zod';
import { eventually } from '../../../../test/harness/eventually.js';
import { Proxy } from '../../../../test/harness/proxy.js';
import { required } from '../../../../test/harness/servers.js';
import { DependencyUnavailable } from '../errors/app-error.js';
import { createLogger } from '../logging/logger.js';
import { BatchConsumer, type Delivery } from './batch-consumer.js';
import { connectNats } from './connect.js';
import { ensureConsumer, ensureStream } from './ensure.js';
import { EventBus } from './event-bus.js';
import { MessageMalformed, type Subject } from './subject.js';

const logger = createLogger({ level: 'silent', process: 'test' });
const word = z.object({ word: z.string().min(1) });
type Word = z.infer<typeof word>;

const ACK_WAIT_MS = 3_000;

describe('events over JetStream', () => {
  let connection: NatsConnection;
  let manager: JetStreamManager;
  beforeAll(async () => {
    connection = await connectNats(required('NATS_URL'), 'test');
    manager = await jetstreamManager(connection);
  });
  afterAll(() => connection.close());

  async function setUp() {
    const stream = `T_${randomUUID().slice(0, 8)}`;
    const subject: Subject<Word> = { name: `${stream}.word`, schema: word };
    await ensureStream(manager, { name: stream, subjects: [`${stream}.>`] });
    return { stream, subject };
  }

  function collector(stream: string, subject: Subject<Word>, through = connection) {
    const seen: Array<Delivery<Word>> = [];
    const consumer = new BatchConsumer<Word>(
      through,
      {
        stream,
        consumer: { durable_name: 'collector', ack_policy: AckPolicy.Explicit, ack_wait: nanos(ACK_WAIT_MS) },
        subject,
        batchSize: 50,
        expiresMs: 1_000,
        handle: async (batch) => {
          seen.push(...batch);
          await Promise.all(batch.map(({ message }) => message.ackAck()));
        },
      },
      logger,
    );
    const words = () =>
      seen.flatMap(({ content }) => (content instanceof MessageMalformed ? [] : [content.word]));
    return { seen, consumer, words };
  }

  it('is delivered once, also where the handler takes longer than the server waits for', async () => {
    const { stream, subject } = await setUp();
    const bus = new EventBus(connection);
    for (let n = 0; n < 20; n += 1) await bus.publish(subject, { word: `${n}` }, `${n}`);
    const deliveries: number[] = [];
    let mayGoOn = () => undefined as void;
    const goOn = new Promise<void>((resolve) => (mayGoOn = resolve));
    const ackWaitMs = 1_500;
    const consumer = new BatchConsumer<Word>(
      connection,
      {
        stream,
        consumer: { durable_name: 'slow', ack_policy: AckPolicy.Explicit, ack_wait: nanos(ackWaitMs) },
        subject,
        batchSize: 2,
        expiresMs: 1_000,
        handle: async (batch) => {
          await goOn;
          deliveries.push(...batch.map(({ message }) => message.info.deliveryCount));
          await Promise.all(batch.map(({ message }) => message.ackAck()));
        },
      },
      logger,
    );
    consumer.start();
    // The server's own patience, which nothing shortens.
    await pause(2.5 * ackWaitMs);
    consumer.assertAlive();
    mayGoOn();
    await eventually('all are handled', () => Promise.resolve(deliveries.length >= 20));
    await consumer.stop();
    expect(deliveries).toEqual(Array.from({ length: 20 }, () => 1));
  }, 30_000);

  it('makes a stream as defined, and brings an older one to the definition without losing what it holds', async () => {
    const { stream, subject } = await setUp();
    await new EventBus(connection).publish(subject, { word: 'kept' }, 'one');
    await ensureStream(manager, {
      name: stream,
      subjects: [`${stream}.>`],
      max_age: nanos(60_000),
      duplicate_window: nanos(30_000),
    });
    const { config, state } = await manager.streams.info(stream);
    expect(config).toMatchObject({ max_age: nanos(60_000), duplicate_window: nanos(30_000) });
    expect(state.messages).toBe(1);
  });

  it('makes a consumer as defined and updates it', async () => {
    const { stream } = await setUp();
    for (const max_deliver of [3, 5]) {
      await ensureConsumer(manager, stream, {
        durable_name: 'd',
        ack_policy: AckPolicy.Explicit,
        max_deliver,
      });
      expect((await manager.consumers.info(stream, 'd')).config.max_deliver).toBe(max_deliver);
    }
  });

  it('stores an event once, however often its id is published', async () => {
    const { stream, subject } = await setUp();
    const bus = new EventBus(connection);
    const acks = [
      await bus.publish(subject, { word: 'a' }, 'id-1'),
      await bus.publish(subject, { word: 'a' }, 'id-1'),
    ];
    expect(acks.map((ack) => ack.duplicate)).toEqual([false, true]);
    expect((await manager.streams.info(stream)).state.messages).toBe(1);
  });

  it('refuses to publish what does not have the shape of its subject', async () => {
    const { stream, subject } = await setUp();
    const wrong = { word: '' };
    await expect(new EventBus(connection).publish(subject, wrong, 'x')).rejects.toBeInstanceOf(
      MessageMalformed,
    );
    expect((await manager.streams.info(stream)).state.messages).toBe(0);
  });

  it('consumes in batches and marks the malformed ones without hurting their neighbours', async () => {
    const { stream, subject } = await setUp();
    const js = jetstream(connection);
    for (const text of ['{"word":"a"}', '{"word":7}', 'not json', '{"word":"b"}'])
      await js.publish(subject.name, text);
    const { consumer, seen, words } = collector(stream, subject);
    consumer.start();
    await eventually('four messages', () => seen.length === 4);
    await consumer.stop();
    expect(words()).toEqual(['a', 'b']);
    const [wrongType, notJson] = seen.flatMap(({ content }) =>
      content instanceof MessageMalformed ? [content.problems] : [],
    );
    expect(wrongType).toEqual([expect.stringMatching(/^word: .*expected string/)]);
    expect(notJson).toEqual(['not JSON']);
  });

  it('goes on by itself after its consumer was deleted', async () => {
    const { stream, subject } = await setUp();
    const { consumer, words } = collector(stream, subject);
    const bus = new EventBus(connection);
    consumer.start();
    await bus.publish(subject, { word: 'before' }, '1');
    await eventually('the first', () => words().includes('before'));
    await manager.consumers.delete(stream, 'collector');
    await bus.publish(subject, { word: 'after' }, '2');
    await eventually('the second', () => words().includes('after'));
    await consumer.stop();
  });

  it('asks for time for all that it has taken, however long a batch takes, and stops taking', async () => {
    const { stream, subject } = await setUp();
    const js = jetstream(connection);
    for (let n = 0; n < 200; n += 1) await js.publish(subject.name, `{"word":"${n}"}`);
    const { consumer: quick, seen } = collector(stream, subject);
    let release: () => void = () => undefined;
    const released = new Promise<void>((resolve) => (release = resolve));
    let held = 0;
    const slow = new BatchConsumer<Word>(
      connection,
      {
        stream,
        consumer: { durable_name: 'collector', ack_policy: AckPolicy.Explicit, ack_wait: nanos(ACK_WAIT_MS) },
        subject,
        batchSize: 50,
        expiresMs: 1_000,
        handle: async (batch) => {
          held += batch.length;
          await released;
          await Promise.all(batch.map(({ message }) => message.ackAck()));
        },
      },
      logger,
    );
    const info = () => manager.consumers.info(stream, 'collector');
    slow.start();
    await eventually('it is at work', () => held > 0);
    // In hand, and waiting.
    const taken = await settledAt(async () => (await info()).num_ack_pending);
    expect(taken).toBeLessThanOrEqual(150);
    quick.start();
    await eventually('the others are done', async () => (await info()).num_pending === 0);
    await pause(1.5 * ACK_WAIT_MS);
    expect(seen).toHaveLength(200 - taken);
    expect(await info()).toMatchObject({ num_ack_pending: taken, num_redelivered: 0 });
    release();
    await eventually('all is done', async () => (await info()).num_ack_pending === 0);
    await Promise.all([slow.stop(), quick.stop()]);
  });

  it('says which publish was stored, which had been, which there is no room for and which nobody takes', async () => {
    const { stream, subject } = await setUp();
    const bus = new EventBus(connection);
    await manager.streams.update(stream, { max_msgs: 1, discard: DiscardPolicy.New });
    const publishes = ['1', '1', '2'].map((id) => bus.publish(subject, { word: 'one' }, id));
    const nobodys: Subject<Word> = { name: `nobody.${stream}`, schema: word };
    expect(
      await Promise.allSettled([...publishes, bus.publish(nobodys, { word: 'two' }, '3')]),
    ).toMatchObject([
      { value: { stream, seq: 1, duplicate: false } },
      { value: { stream, seq: 1, duplicate: true } },
      { reason: { name: 'DependencyUnavailable', cause: { message: 'maximum messages exceeded' } } },
      { reason: { name: 'DependencyUnavailable' } },
    ]);
  });

  it('fails a publish in time while the link is cut, and both sides go on when it heals', async () => {
    const { stream, subject } = await setUp();
    const proxy = await Proxy.before(required('NATS_URL'));
    const through = await connectNats(proxy.url, 'test-through-proxy');
    const { consumer, words } = collector(stream, subject, through);
    const bus = new EventBus(through);
    consumer.start();
    await bus.publish(subject, { word: 'before' }, '1');
    await eventually('the first', () => words().includes('before'));

    proxy.cut();
    const startedAt = performance.now();
    await expect(bus.publish(subject, { word: 'lost' }, '2')).rejects.toBeInstanceOf(DependencyUnavailable);
    expect(performance.now() - startedAt).toBeLessThan(10_000);

    proxy.heal();
    await eventually('a publish after healing', () => bus.publish(subject, { word: 'after' }, '3'));
    await eventually('its arrival', () => words().includes('after'));
    await consumer.stop();
    await through.close();
    await proxy.close();
  });
});

/** What a number has become once it does not change any more. */
async function settledAt(ask: () => Promise<number>): Promise<number> {
  for (let before = await ask(); ;) {
    await pause(500);
    const now = await ask();
    if (now === before) return now;
    before = now;
  }
}
