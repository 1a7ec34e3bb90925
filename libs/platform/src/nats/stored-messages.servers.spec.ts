import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { jetstream, jetstreamManager, type JetStreamManager } from '@nats-io/jetstream';
import { type NatsConnection } from '@nats-io/transport-node';
import { eventually } from '../../../../test/harness/eventually.js';
import { Proxy } from '../../../../test/harness/proxy.js';
import { required } from '../../../../test/harness/servers.js';
import { DependencyUnavailable } from '../errors/app-error.js';
import { connectNats } from './connect.js';
import { ensureStream } from './ensure.js';
import { deleteMessages, type MessageRange, storedMessages } from './stored-messages.js';

describe('storedMessages', () => {
  let connection: NatsConnection;
  let manager: JetStreamManager;
  beforeAll(async () => {
    connection = await connectNats(required('NATS_URL'), 'test');
    manager = await jetstreamManager(connection);
  });
  afterAll(() => connection.close());

  async function streamOf(count: number): Promise<string> {
    const stream = `K_${randomUUID().slice(0, 8)}`;
    await ensureStream(manager, { name: stream, subjects: [`${stream}.>`] });
    for (let n = 1; n <= count; n += 1)
      await jetstream(connection).publish(`${stream}.${n % 2 ? 'odd' : 'even'}`, `${n}`);
    return stream;
  }
  const read = async (range: MessageRange, through = connection) => {
    const batches: string[][] = [];
    for await (const batch of storedMessages(through, range))
      batches.push(batch.map((message) => message.string()));
    return batches;
  };

  it('storedMessages yields all messages in order, in batches, and none of an empty stream', async () => {
    const stream = await streamOf(7);
    const all = { stream, subject: `${stream}.>` };
    expect(await read({ ...all, batchSize: 3 })).toEqual([['1', '2', '3'], ['4', '5', '6'], ['7']]);
    const empty = await streamOf(0);
    expect(await read({ stream: empty, subject: `${empty}.>` })).toEqual([]);
  });

  it('storedMessages yields messages of one subject, of a range of sequences, and from a time on', async () => {
    const stream = await streamOf(7);
    const subject = `${stream}.odd`;
    expect(await read({ stream, subject, from: { seq: 2 }, upToSeq: 5 })).toEqual([['3', '5']]);
    expect(await read({ stream, subject, from: { seq: 8 } })).toEqual([]);
    const seventh = await manager.streams.getMessage(stream, { seq: 7 });
    const from = { time: new Date((seventh?.time.getTime() ?? 0) + 1) };
    await eventually('the next millisecond', () => Date.now() > from.time.getTime());
    await jetstream(connection).publish(`${stream}.odd`, '8');
    expect(await read({ stream, subject: `${stream}.>`, from })).toEqual([['8']]);
  });

  it('storedMessages skips deleted messages, and ends if the rest is deleted while it reads', async () => {
    const stream = await streamOf(7);
    expect(await deleteMessages(connection, stream, [2, 7, 7, 99])).toBe(2);
    const seen: string[] = [];
    for await (const batch of storedMessages(connection, { stream, subject: `${stream}.>`, batchSize: 3 })) {
      seen.push(...batch.map((message) => message.string()));
      await deleteMessages(connection, stream, [5, 6]);
    }
    expect(seen).toEqual(['1', '3', '4']);
  });

  it('storedMessages ends at the message that was the newest when it began', async () => {
    const stream = await streamOf(3);
    const seen: string[] = [];
    for await (const batch of storedMessages(connection, { stream, subject: `${stream}.>`, batchSize: 1 })) {
      seen.push(...batch.map((message) => message.string()));
      await jetstream(connection).publish(`${stream}.odd`, 'later');
    }
    expect(seen).toEqual(['1', '2', '3']);
  });

  it('storedMessages throws DependencyUnavailable if the link breaks between two batches', async () => {
    const stream = await streamOf(4);
    const proxy = await Proxy.before(required('NATS_URL'));
    const through = await connectNats(proxy.url, 'test-through-proxy');
    const reading = (async () => {
      for await (const batch of storedMessages(through, { stream, subject: `${stream}.>`, batchSize: 2 }))
        if (batch.length > 0) proxy.cut();
    })();
    await expect(reading).rejects.toBeInstanceOf(DependencyUnavailable);
    proxy.heal();
    await through.close();
    await proxy.close();
  }, 60_000);
});
