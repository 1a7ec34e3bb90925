import { randomUUID } from 'node:crypto';
import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import fastify from 'fastify';
import { connectNats } from '../libs/platform/src/nats/connect.js';

// Measures the upper bound of the ingest route. This server reads a body, makes an id and waits for the PubAck. It has no API key, no
// validation and no logging.
const connection = await connectNats(process.env.NATS_URL ?? '', 'bench');
const manager = await jetstreamManager(connection);
await manager.streams.add({ name: 'BARE_INGEST', subjects: ['bare.ingest'], duplicate_window: 7_200e9 });
const js = jetstream(connection);
const server = fastify();
server.post('/', async ({ body }) => {
  const eventId = randomUUID();
  await js.publish('bare.ingest', JSON.stringify({ eventId, payload: body }), { msgID: eventId });
  return { message: 'received', eventId };
});
const url = await server.listen({ port: 0, host: '127.0.0.1' });
console.log(JSON.stringify({ msg: 'ready', urls: [url] }));
process.once('SIGTERM', () => void server.close().then(() => connection.close()));
