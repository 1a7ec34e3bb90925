import { randomUUID } from 'node:crypto';
import { type IncomingMessage, type ServerResponse } from 'node:http';
import { type Socket } from 'node:net';
import { type FastifyError, type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { errorAnswer, errorBody, sendError } from './error-answer.js';
import { requestIdOf } from './observe-requests.js';
import { secureHeaderFields } from './secure-headers.js';

// Node or Fastify refuse some requests before any hook runs. These functions give those answers the same headers and error body as all
// other errors.

const headersOf = (requestId: string) => ({
  ...secureHeaderFields,
  'x-request-id': requestId,
  'cache-control': 'no-store',
  // The path is unknown. It may be a path of the add-on, which any origin may read. The answer contains no data.
  'access-control-allow-origin': '*',
});

/** Answers a request whose URL cannot be decoded or routed. */
export function answerUnroutable(error: FastifyError, request: FastifyRequest, reply: FastifyReply): void {
  void reply.headers(headersOf(request.id));
  sendError(reply, errorAnswer(error), request.id);
}

/** Answers 400 to HTTP/1.1 without a Host header. Node would do so with an empty body. */
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

/** Answers 417 to any `Expect` other than `100-continue`. Node itself answers `100-continue`. */
export function refuseExpectations(server: FastifyInstance): void {
  server.server.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) => {
    const { headers, body } = refusal(417, requestIdOf(request.headers));
    response.writeHead(417, headers).end(body);
  });
}

/** Answers bytes that are not HTTP. There is no request object, so this function writes to the socket. */
export function answerUnparsable(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) return void socket.destroy();
  const status =
    error.code === 'HPE_HEADER_OVERFLOW' ? 431 : error.code === 'ERR_HTTP_REQUEST_TIMEOUT' ? 408 : 400;
  const { headers, body } = refusal(status, randomUUID());
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  socket.end(`HTTP/1.1 ${status} Error\r\n${lines.join('\r\n')}\r\n\r\n${body}`);
}

/** The answer closes the connection: the client may go on sending an unread body. */
function refusal(status: number, requestId: string): { headers: Record<string, string>; body: string } {
  const body = JSON.stringify(errorBody(errorAnswer({ statusCode: status }), requestId));
  const headers = {
    ...headersOf(requestId),
    'content-type': 'application/json; charset=utf-8',
    'content-length': String(Buffer.byteLength(body)),
    connection: 'close',
  };
  return { headers, body };
}
