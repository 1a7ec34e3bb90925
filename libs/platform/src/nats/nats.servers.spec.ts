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
import { BatchConsumer } from './batch-consumer.js';
import { connectNats } from './connect.js';
import { type Delivery } from './delivery.js';
import { ensureConsumer, ensureStream } from './ensure.js';
import { EventBus } from './event-bus.js';
import { MessageMalformed, type Subject } from './subject.js';

const logger = createLogger({ level: 'silent', process: 'test' });
const word = z.object({ word: z.string().min(1) });
type Word = z.infer<typeof word>;

// A consumer extends it every third of this time. A busy machine may pause the process for two of these thirds.
const ACK_WAIT_MS = 4_000;

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
        handle: (batch) => {
          seen.push(...batch);
          for (const { message } of batch) message.ack();
          return Promise.resolve();
        },
      },
      logger,
    );
    const words = () =>
      seen.flatMap(({ content }) => (content instanceof MessageMalformed ? [] : [content.word]));
    return { seen, consumer, words };
  }

  it('ensureStream updates an existing stream to the definition and keeps its messages', async () => {
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

  it('ensureConsumer creates a consumer, and updates it to a changed definition', async () => {
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

  it('EventBus stores an event once when its id is published twice', async () => {
    const { stream, subject } = await setUp();
    const bus = new EventBus(connection);
    const acks = [
      await bus.publish(subject, { word: 'a' }, 'id-1'),
      await bus.publish(subject, { word: 'a' }, 'id-1'),
    ];
    expect(acks.map((ack) => ack.duplicate)).toEqual([false, true]);
    expect((await manager.streams.info(stream)).state.messages).toBe(1);
  });

  it('EventBus refuses to publish an event that does not fit its schema', async () => {
    const { stream, subject } = await setUp();
    const wrong = { word: '' };
    await expect(new EventBus(connection).publish(subject, wrong, 'x')).rejects.toBeInstanceOf(
      MessageMalformed,
    );
    expect((await manager.streams.info(stream)).state.messages).toBe(0);
  });

  it('BatchConsumer delivers malformed messages as MessageMalformed among the others', async () => {
    const { stream, subject } = await setUp();
    const js = jetstream(connection);
    for (const text of ['{"word":"a"}', '{"word":7}', 'not json', '[7]', '{"word":"b"}'])
      await js.publish(subject.name, text);
    const { consumer, seen, words } = collector(stream, subject);
    consumer.start();
    await eventually('five messages', () => seen.length === 5);
    await consumer.stop();
    expect(words()).toEqual(['a', 'b']);
    const [wrongType, notJson, noObject] = seen.flatMap(({ content }) =>
      content instanceof MessageMalformed ? [content.problems] : [],
    );
    expect(wrongType).toEqual([expect.stringMatching(/^word: .*expected string/)]);
    expect(notJson).toEqual(['not JSON']);
    expect(noObject).toEqual([expect.stringMatching(/^message: .*expected object/)]);
  });

  it('BatchConsumer goes on after its consumer was deleted on the server', async () => {
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

  it('BatchConsumer extends ack_wait of all pulled messages during a long batch, and pulls no more', async () => {
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
          for (const { message } of batch) message.ack();
        },
      },
      logger,
    );
    const info = () => manager.consumers.info(stream, 'collector');
    slow.start();
    await eventually('it is at work', () => held > 0);
    // `taken` counts the batch under way and the waiting messages.
    const taken = await stable(async () => (await info()).num_ack_pending);
    expect(taken).toBeLessThanOrEqual(150);
    quick.start();
    await eventually('the others are done', async () => (await info()).num_pending === 0);
    await pause(1.5 * ACK_WAIT_MS);
    slow.assertAlive();
    expect(seen).toHaveLength(200 - taken);
    expect(await info()).toMatchObject({ num_ack_pending: taken, num_redelivered: 0 });
    release();
    await eventually('all is done', async () => (await info()).num_ack_pending === 0);
    await Promise.all([slow.stop(), quick.stop()]);
  });

  it('BatchConsumer.whileIdle waits until the messages that have arrived are handled, and no message is pulled until it ends', async () => {
    const { stream, subject } = await setUp();
    const bus = new EventBus(connection);
    let release: () => void = () => undefined;
    const released = new Promise<void>((resolve) => (release = resolve));
    const handled: string[] = [];
    const consumer = new BatchConsumer<Word>(
      connection,
      {
        ...holding(stream, subject),
        handle: async (batch) => {
          await released;
          for (const { message, content } of batch) {
            handled.push((content as Word).word);
            message.ack();
          }
        },
      },
      logger,
    );
    const info = () => manager.consumers.info(stream, 'holding');
    await bus.publish(subject, { word: 'before' }, 'before');
    consumer.start();
    await eventually('it is in work', async () => (await info()).num_ack_pending === 1);
    const seen: unknown[] = [];
    const alone = consumer.whileIdle(async () => {
      seen.push([...handled], (await info()).num_ack_pending);
      await bus.publish(subject, { word: 'during' }, 'during');
      // A pull that does not wait would get the message at once.
      await pause(1_500);
      seen.push([...handled], (await info()).num_pending);
    });
    release();
    await alone;
    expect(seen).toEqual([['before'], 0, ['before'], 1]);
    await eventually('the other is handled', () => handled.length === 2);
    await consumer.stop();
  });

  it('BatchConsumer holds a batch during an outage, uses up no delivery, pulls nothing and repeats no settled message', async () => {
    const { stream, subject } = await setUp();
    const bus = new EventBus(connection);
    await Promise.all(range(200).map((n) => bus.publish(subject, { word: `${n}` }, `${n}`)));
    let isAway = true;
    let tries = 0;
    const settled: string[] = [];
    const consumer = new BatchConsumer<Word>(
      connection,
      {
        ...holding(stream, subject),
        handle: (batch) => {
          const [first] = batch;
          // The handler settles the first message of a batch although Postgres is away.
          if (isAway && tries === 0) settle(first as Delivery<Word>);
          tries += 1;
          if (isAway) return Promise.reject(new DependencyUnavailable('postgres'));
          for (const delivery of batch) settle(delivery);
          return Promise.resolve();
        },
      },
      logger,
    );
    const settle = ({ message, content }: Delivery<Word>) => {
      settled.push((content as Word).word);
      message.ack();
    };
    const info = () => manager.consumers.info(stream, 'holding');
    consumer.start();
    await eventually('a second and a third try', () => tries >= 3);
    const held = await stable(async () => (await info()).num_ack_pending);
    expect(held).toBeLessThanOrEqual(150);
    await pause(1.5 * ACK_WAIT_MS);
    expect(tries).toBeGreaterThanOrEqual(6);
    consumer.assertAlive();
    expect(await info()).toMatchObject({ num_ack_pending: held, num_redelivered: 0 });
    isAway = false;
    await eventually('all is settled', async () => {
      const { num_pending, num_ack_pending } = await info();
      return num_pending === 0 && num_ack_pending === 0;
    });
    expect([...settled].sort()).toEqual(range(200).map(String).sort());
    await consumer.stop();
  });

  it('BatchConsumer marks held messages as redelivered, since the first try may have stored something', async () => {
    const { stream, subject } = await setUp();
    await new EventBus(connection).publish(subject, { word: 'one' }, '1');
    const redelivered: boolean[] = [];
    const consumer = new BatchConsumer<Word>(
      connection,
      {
        ...holding(stream, subject),
        handle: ([only]) => {
          redelivered.push(only!.message.redelivered);
          if (redelivered.length < 3) return Promise.reject(new DependencyUnavailable('nats'));
          only!.message.ack();
          return Promise.resolve();
        },
      },
      logger,
    );
    consumer.start();
    await eventually('a third try', () => redelivered.length === 3);
    await consumer.stop();
    expect(redelivered).toEqual([false, true, true]);
  });

  it('BatchConsumer handles a batch in parts if a server is too slow for the whole batch', async () => {
    const { stream, subject } = await setUp();
    const bus = new EventBus(connection);
    const words = range(12).map(String);
    for (const word of words) await bus.publish(subject, { word }, word);
    const tried: number[] = [];
    const handled: string[] = [];
    const pending = async () => (await manager.consumers.info(stream, 'holding')).num_pending;
    const consumer = new BatchConsumer<Word>(
      connection,
      {
        ...holding(stream, subject),
        handle: async (batch) => {
          // The first try waits for all other messages, so that they form one batch.
          if (tried.length === 0) await eventually('all are here', async () => (await pending()) === 0);
          tried.push(batch.length);
          if (batch.length > 2) throw new DependencyUnavailable('postgres');
          for (const { message, content } of batch) {
            handled.push((content as Word).word);
            message.ack();
          }
        },
      },
      logger,
    );
    consumer.start();
    await eventually('all are handled', () => handled.length === words.length);
    await consumer.stop();
    expect(handled).toEqual(words);
    expect(Math.max(...tried)).toBeGreaterThan(2);
  });

  it('BatchConsumer returns held messages to NATS when it stops during an outage', async () => {
    const { stream, subject } = await setUp();
    await new EventBus(connection).publish(subject, { word: 'one' }, '1');
    let tries = 0;
    const holder = new BatchConsumer<Word>(
      connection,
      {
        ...holding(stream, subject),
        handle: () => {
          tries += 1;
          return Promise.reject(new DependencyUnavailable('postgres'));
        },
      },
      logger,
    );
    holder.start();
    await eventually('it holds', () => tries > 0);
    await holder.stop();
    const seen: string[] = [];
    const other = new BatchConsumer<Word>(
      connection,
      {
        ...holding(stream, subject),
        handle: async (batch) => {
          for (const { message, content } of batch) {
            seen.push((content as Word).word);
            message.ack();
          }
          await Promise.resolve();
        },
      },
      logger,
    );
    other.start();
    await eventually('another has it', () => seen.length === 1);
    await other.stop();
  });

  it('EventBus tells apart the publishes of one turn: stored, duplicate, full stream, no stream', async () => {
    const { stream, subject } = await setUp();
    const bus = new EventBus(connection);
    await manager.streams.update(stream, { max_msgs: 1, discard: DiscardPolicy.New });
    const publishes = ['1', '1', '2'].map((id) => bus.publish(subject, { word: 'one' }, id));
    const unbound: Subject<Word> = { name: `unbound.${stream}`, schema: word };
    expect(
      await Promise.allSettled([...publishes, bus.publish(unbound, { word: 'two' }, '3')]),
    ).toMatchObject([
      { value: { stream, seq: 1, duplicate: false } },
      { value: { stream, seq: 1, duplicate: true } },
      { reason: { name: 'DependencyUnavailable', cause: { message: 'maximum messages exceeded' } } },
      { reason: { name: 'DependencyUnavailable' } },
    ]);
  });

  it('EventBus rejects a publish on a cut link within 10 s; publishing and consuming work again when the link heals', async () => {
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

const range = (count: number) => Array.from({ length: count }, (_, n) => n);

function holding(stream: string, subject: Subject<Word>) {
  return {
    stream,
    consumer: { durable_name: 'holding', ack_policy: AckPolicy.Explicit, ack_wait: nanos(ACK_WAIT_MS) },
    subject,
    batchSize: 50,
    expiresMs: 1_000,
  };
}

/** Polls a number until it stays the same for 1.5 s, which is longer than a pull may wait for messages (1 s). */
async function stable(read: () => Promise<number>): Promise<number> {
  let before = await read();
  for (let same = 0; same < 3;) {
    await pause(500);
    const now = await read();
    same = now === before ? same + 1 : 0;
    before = now;
  }
  return before;
}
