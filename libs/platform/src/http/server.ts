import { randomUUID } from 'node:crypto';
import { type Socket } from 'node:net';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import {
  type FastifyError,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  type FastifyServerOptions,
} from 'fastify';
import { applyBodyLimits } from './body-limit.js';
import { errorAnswer, errorBody } from './error-answer.js';
import { sendError } from './error.filter.js';
import { secureHeaderFields } from './secure-headers.js';

const BODY_LIMIT_BYTES = 1024 * 1024;
const REQUEST_TIMEOUT_MS = 30_000;
const HEADERS_TIMEOUT_MS = 10_000;
const TIMEOUT_CHECK_MS = 5_000;
const REQUEST_ID = /^[\w.-]{1,64}$/;

/** Fastify as every HTTP process of ours runs it. `trustProxy` names the peers whose X-Forwarded-For is believed. */
export function createHttpAdapter(trustProxy: readonly string[]): FastifyAdapter {
  const adapter = new FastifyAdapter({
    bodyLimit: BODY_LIMIT_BYTES,
    // Slow senders are cut: a request that has not arrived by then never will.
    requestTimeout: REQUEST_TIMEOUT_MS,
    http: { headersTimeout: HEADERS_TIMEOUT_MS, connectionsCheckingInterval: TIMEOUT_CHECK_MS },
    trustProxy: trustProxy.length > 0 ? [...trustProxy] : false,
    routerOptions: { maxParamLength: 512 },
    // A caller's own id is kept, so that it can be found in both logs; anything odd is replaced.
    genReqId: ({ headers }: { headers: Record<string, string | string[] | undefined> }) => {
      const given = headers['x-request-id'];
      return typeof given === 'string' && REQUEST_ID.test(given) ? given : randomUUID();
    },
    // Nest middleware runs by path, which an encoded path can slip past; what we check, we check in guards.
    skipMiddie: true,
    forceCloseConnections: 'idle',
    return503OnClosing: false,
    logger: false,
    frameworkErrors: answerUnroutable as FastifyServerOptions['frameworkErrors'],
    clientErrorHandler: answerUnparsable,
  });
  acceptEmptyJson(adapter.getInstance());
  applyBodyLimits(adapter.getInstance());
  // Only JSON is taken. Fastify would parse text/plain as well, and a route would then see a string for a body.
  adapter.getInstance().removeContentTypeParser('text/plain');
  return adapter;
}

/** As it arrived, for whoever has to read it more exactly than JSON.parse does, or to check its signature. */
export interface WithRawBody {
  rawBody?: string;
}

/** Many clients name JSON as the type of a body they do not send. */
function acceptEmptyJson(server: FastifyInstance): void {
  const parse = server.getDefaultJsonParser('error', 'error');
  server.decorateRequest('rawBody', undefined);
  server.addContentTypeParser('application/json', { parseAs: 'string' }, (request, body, done) => {
    (request as WithRawBody).rawBody = body as string;
    if (body === '') done(null, undefined);
    else void parse(request, body as string, done);
  });
}

/** A URL that cannot be decoded belongs to no route, and no hook has seen it. */
function answerUnroutable(error: FastifyError, request: FastifyRequest, reply: FastifyReply): void {
  void reply.headers(secureHeaderFields).header('x-request-id', request.id);
  sendError(reply, errorAnswer(error), request.id);
}

/** What arrived is not HTTP, so there is no request to answer: the bytes are written by hand. */
function answerUnparsable(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) return void socket.destroy();
  const status =
    error.code === 'HPE_HEADER_OVERFLOW' ? 431 : error.code === 'ERR_HTTP_REQUEST_TIMEOUT' ? 408 : 400;
  const body = JSON.stringify(errorBody(errorAnswer({ statusCode: status }), randomUUID()));
  socket.end(
    `HTTP/1.1 ${status} Error\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n` +
      `Connection: close\r\n\r\n${body}`,
  );
}
