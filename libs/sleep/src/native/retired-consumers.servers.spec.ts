import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, it } from '@jest/globals';
import { jetstreamManager, type JetStreamManager } from '@nats-io/jetstream';
import { connectNats, createLogger, CORE_STREAM } from '#platform';
import { eventually } from '../../../../test/harness/eventually.js';
import { NatsServer } from '../../../../test/harness/nats-server.js';
import { RetiredConsumers } from './retired-consumers.js';

let server: NatsServer;
let connection: Awaited<ReturnType<typeof connectNats>>;
let manager: JetStreamManager;
beforeAll(async () => {
  server = await NatsServer.start();
  connection = await connectNats(server.url, `test ${randomUUID()}`);
  manager = await jetstreamManager(connection);
  await manager.streams.add({ name: CORE_STREAM, subjects: ['athlete-ally.>'] });
});
afterAll(async () => {
  await connection.close();
  await server.stop();
});

it('the consumers of vendors’ events of an earlier release are deleted at the start, and no other consumer', async () => {
  const names = ['fetch-oura-sleep-durable', 'normalize-sleep-durable'];
  for (const durable_name of names) await manager.consumers.add(CORE_STREAM, { durable_name });
  const logger = createLogger({ level: 'silent', process: 'test' });
  new RetiredConsumers(connection, logger).onApplicationBootstrap();
  await eventually('one consumer is left', async () => {
    const left = await manager.consumers.list(CORE_STREAM).next();
    return left.length === 1 && left[0]?.name === 'normalize-sleep-durable';
  });
});
