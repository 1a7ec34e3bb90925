import { randomUUID } from 'node:crypto';
import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import fastify from 'fastify';

// The ceiling of the ingest route: a body, an id and the PubAck. No key, no check, no log.
const connection = await connect({ servers: process.env.NATS_URL });
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
