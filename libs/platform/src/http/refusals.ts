import { randomUUID } from 'node:crypto';
import { type IncomingMessage, type ServerResponse } from 'node:http';
import { type Socket } from 'node:net';
import { type FastifyError, type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { errorAnswer, errorBody } from './error-answer.js';
import { sendError } from './error.filter.js';
import { requestIdOf } from './request-id.js';
import { secureHeaderFields } from './secure-headers.js';

// What is refused before it is a request of ours, and before any hook has seen it, is answered like everything else.

/** A URL that cannot be decoded belongs to no route. */
export function answerUnroutable(error: FastifyError, request: FastifyRequest, reply: FastifyReply): void {
  void reply.headers(secureHeaderFields).header('x-request-id', request.id);
  sendError(reply, errorAnswer(error), request.id);
}

/** HTTP/1.1 demands a Host. Node would see to it, with an empty answer. */
export function requireHost(server: FastifyInstance): void {
  server.addHook('onRequest', (request, reply, done) => {
    const { headers, httpVersion } = request.raw;
    if (headers.host !== undefined || httpVersion !== '1.1') {
      done();
      return;
    }
    void reply.headers(secureHeaderFields).header('x-request-id', request.id).header('connection', 'close');
    sendError(reply, errorAnswer({ statusCode: 400 }), request.id);
  });
}

/** `Expect` may only say `100-continue`, which node answers itself. */
export function refuseExpectations(server: FastifyInstance): void {
  server.server.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) => {
    const { headers, body } = refusal(417, requestIdOf(request.headers));
    response.writeHead(417, headers).end(body);
  });
}

/** What arrived is not HTTP, so there is no request to answer: the bytes are written by hand. */
export function answerUnparsable(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) return void socket.destroy();
  const status =
    error.code === 'HPE_HEADER_OVERFLOW' ? 431 : error.code === 'ERR_HTTP_REQUEST_TIMEOUT' ? 408 : 400;
  const { headers, body } = refusal(status, randomUUID());
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  socket.end(`HTTP/1.1 ${status} Error\r\n${lines.join('\r\n')}\r\n\r\n${body}`);
}

/** Whoever is refused like this may send on whatever it likes: the connection ends here. */
function refusal(status: number, requestId: string): { headers: Record<string, string>; body: string } {
  const body = JSON.stringify(errorBody(errorAnswer({ statusCode: status }), requestId));
  const headers = {
    ...secureHeaderFields,
    'x-request-id': requestId,
    'cache-control': 'no-store',
    // The address could not be read, so it may have been one of the add-on's; and it says nothing about anybody.
    'access-control-allow-origin': '*',
    'content-type': 'application/json; charset=utf-8',
    'content-length': String(Buffer.byteLength(body)),
    connection: 'close',
  };
  return { headers, body };
}
