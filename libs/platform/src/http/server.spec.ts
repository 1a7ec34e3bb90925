import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type FastifyInstance } from 'fastify';
import { eventually } from '../../../../test/harness/eventually.js';
import { LONGEST_POLL_SECONDS } from './deadline.js';
import { createHttpAdapter } from './server.js';

// More than the kernel's socket buffers hold.
const LARGE = Buffer.alloc(64 * 1024 * 1024);

describe('a connection to an HTTP process', () => {
  let server: FastifyInstance;
  let readers: Socket[];
  beforeEach(async () => {
    readers = [];
    server = createHttpAdapter([]).getInstance();
    server.get('/large', (_request, reply) => reply.send(LARGE));
    await server.listen({ port: 0, host: '127.0.0.1' });
  });
  afterEach(async () => {
    readers.forEach((reader) => reader.destroy());
    await server.close();
  });

  async function reader(): Promise<Socket> {
    const socket = connect(server.addresses()[0]?.port ?? 0, '127.0.0.1');
    readers.push(socket);
    socket.on('error', () => socket.destroy());
    socket.write('GET /large HTTP/1.1\r\nHost: x\r\n\r\n');
    await once(socket, 'data');
    return socket;
  }

  const connections = () =>
    new Promise<number>((resolve) => server.server.getConnections((_error, count) => resolve(count)));

  it('a reader who takes no bytes of an answer is disconnected after 45 s, which is longer than any answer is silent', async () => {
    expect(server.server.timeout).toBe(45_000);
    expect(server.server.timeout).toBeGreaterThan(LONGEST_POLL_SECONDS * 1_000 + 4_250);
    server.server.setTimeout(500);
    for (const one of await Promise.all([reader(), reader()])) one.pause();
    expect(await connections()).toBe(2);
    await eventually('both are disconnected', async () => (await connections()) === 0);
  });
});
