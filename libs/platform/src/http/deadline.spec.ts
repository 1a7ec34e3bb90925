import { once } from 'node:events';
import { connect } from 'node:net';
import { Readable } from 'node:stream';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type FastifyInstance, type FastifyReply } from 'fastify';
import { eventually } from '../../../../test/harness/eventually.js';
import { createLogger } from '../logging/logger.js';
import { enforceDeadline } from './deadline.js';
import { createHttpAdapter } from './server.js';

const DEADLINE_MS = 50;
const never = new Promise<never>(() => undefined);

const ANNOUNCED: Readonly<Record<string, Record<string, string>>> = {
  '/json': {},
  '/text': { 'content-type': 'text/plain; version=0.0.4' },
  '/archive': {
    'content-type': 'application/gzip',
    'content-disposition': 'attachment; filename="x.tar.gz"',
    'content-length': '7',
  },
  '/stored': { 'content-type': 'application/json', 'content-encoding': 'gzip', etag: '"1"' },
  '/video': { 'content-type': 'video/mp4', 'content-range': 'bytes 0-1/2', 'accept-ranges': 'bytes' },
  '/page': { 'content-type': 'text/html', 'last-modified': 'Thu, 01 Jan 1970 00:00:00 GMT' },
};

describe('the deadline of a request', () => {
  let server: FastifyInstance;
  let lines: string[];
  let replies: FastifyReply[];
  beforeEach(async () => {
    lines = [];
    replies = [];
    server = createHttpAdapter([]).getInstance();
    const destination = { write: (line: string) => void lines.push(line) };
    enforceDeadline(server, createLogger({ level: 'error', process: 'test', destination }), DEADLINE_MS);
    // Each handler sets the headers of one kind of answer, and never answers.
    for (const [path, headers] of Object.entries(ANNOUNCED))
      server.get(path, (_request, reply) => {
        replies.push(reply);
        void reply.headers(headers);
        return never;
      });
    server.get('/silent-stream', (_request, reply) => {
      replies.push(reply);
      void reply.type('application/gzip');
      return reply.send(new Readable({ read: () => undefined }));
    });
    await server.listen({ port: 0, host: '127.0.0.1' });
  });
  afterEach(() => server.close());

  // Returns a list. A reply is thenable, so an async function that returned the reply would wait until the answer is sent.
  async function firstReply(): Promise<readonly FastifyReply[]> {
    await eventually('the request arrives', () => replies.length > 0);
    return replies;
  }

  const url = (path: string) => `http://127.0.0.1:${server.addresses()[0]?.port}${path}`;

  it.each([...Object.keys(ANNOUNCED), '/silent-stream'])(
    'the deadline answers 503 as JSON for the late handler of %s, without the headers that the handler had set',
    async (path) => {
      const answer = await fetch(url(path));
      expect(answer.status).toBe(503);
      expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8');
      for (const name of [
        'etag',
        'content-encoding',
        'content-disposition',
        'content-range',
        'last-modified',
      ])
        expect(answer.headers.get(name)).toBeNull();
      expect(await answer.json()).toMatchObject({ error: 'No answer in time' });
      expect(lines).toEqual([]);
    },
  );

  it('the deadline sends nothing for a late reply whose client has disconnected', async () => {
    const socket = connect(server.addresses()[0]?.port ?? 0, '127.0.0.1');
    await once(socket, 'connect');
    socket.write('GET /text HTTP/1.1\r\nHost: x\r\n\r\n');
    const [reply] = (await firstReply()) as [FastifyReply];
    socket.destroy();
    await eventually('the server notices', () => reply.raw.destroyed);
    // The same periodic check answers this later request with 503, so that check has already handled the earlier reply.
    expect((await fetch(url('/text'))).status).toBe(503);
    expect(reply.raw.headersSent).toBe(false);
    expect(lines).toEqual([]);
  });

  it('a handler that ends just before the deadline is answered in time, although the event loop stands still then', async () => {
    const patient: FastifyInstance = createHttpAdapter([]).getInstance();
    enforceDeadline(patient, createLogger({ level: 'silent', process: 'test' }), 420);
    patient.get('/', (_request, reply) => {
      const endsAt = performance.now() + 900;
      setTimeout(() => void reply.send('in time'), 400);
      // The timer of the periodic check is due before that of the handler, and runs first once the loop goes on.
      setTimeout(() => {
        while (performance.now() < endsAt);
      }, 100);
      return reply;
    });
    await patient.listen({ port: 0, host: '127.0.0.1' });
    const answer = await fetch(`http://127.0.0.1:${patient.addresses()[0]?.port}/`);
    expect([answer.status, await answer.text()]).toEqual([200, 'in time']);
    await patient.close();
  });

  it('the deadline answers 503 to other late requests if sending one answer throws', async () => {
    const broken = fetch(url('/text')).catch((error: unknown) => error);
    const [reply] = (await firstReply()) as [FastifyReply];
    reply.send = () => {
      throw new Error('a serializer is wrong');
    };
    expect((await fetch(url('/json'))).status).toBe(503);
    expect(await broken).not.toHaveProperty('status');
    expect(lines.join()).toContain('the answer for a late request failed');
  });
});
