import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { jetstream, jetstreamManager, type JetStreamManager } from '@nats-io/jetstream';
import { type NatsConnection } from '@nats-io/transport-node';
import { eventually } from '../../../../test/harness/eventually.js';
import { newNats } from '../../../../test/harness/nats-cluster.js';
import { NatsServer } from '../../../../test/harness/nats-server.js';
import { connectNats } from './connect.js';
import { ensureStream } from './ensure.js';
import { timeOfNats } from './time-of-nats.js';

/** The installed NATS may be older than 2.10, which is the first that names its time. `npm test` says why the newer one is missing. */
describe.each([
  ['the installed NATS', undefined],
  ...(newNats ? [['a NATS that has run clusters safely since 2.10.23', newNats] as const] : []),
])('timeOfNats with %s', (_name, program) => {
  let server: NatsServer;
  let connection: NatsConnection;
  let manager: JetStreamManager;
  const stream = `T_${randomUUID().slice(0, 8)}`;
  beforeAll(async () => {
    server = await NatsServer.start('', program);
    connection = await connectNats(server.url, 'test');
    manager = await jetstreamManager(connection);
    await ensureStream(manager, { name: stream, subjects: [`${stream}.>`] });
  });
  afterAll(async () => {
    await connection?.close();
    await server?.stop();
  });

  it('timeOfNats lies between a message before and a message after the request, and leaves no consumer', async () => {
    const storedAt = async () => {
      const { seq } = await jetstream(connection).publish(`${stream}.tick`);
      return (await manager.streams.getMessage(stream, { seq }))?.time.getTime() ?? NaN;
    };
    const before = await storedAt();
    const time = await timeOfNats(manager, stream);
    const after = await storedAt();
    // The time of a message is cut off to milliseconds.
    expect(Math.floor(time)).toBeGreaterThanOrEqual(before);
    expect(Math.floor(time)).toBeLessThanOrEqual(after);
    await eventually(
      'no consumer is left',
      async () => (await manager.streams.info(stream)).state.consumer_count === 0,
    );
  });
});
