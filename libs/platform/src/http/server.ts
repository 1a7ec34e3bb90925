import { type IncomingMessage } from 'node:http';
import { type Socket } from 'node:net';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { type FastifyInstance, type FastifyServerOptions } from 'fastify';
import { applyBodyLimits, isBodyUnparsed, SMALL_BODY_BYTES } from './before-body.js';
import { answerUnparsable, answerUnroutable, refuseExpectations, requireHost } from './refusals.js';
import { requestIdOf } from './observe-requests.js';
import { InvalidInput } from '../errors/app-error.js';

const REQUEST_TIMEOUT_MS = 30_000;
const HEADERS_TIMEOUT_MS = 10_000;
const TIMEOUT_CHECK_MS = 5_000;
// A long poll is silent for longest: 30 s, and at most 4.25 s more. Event streams send a heartbeat each 15 s.
const LONGEST_SILENCE_MS = 45_000;

/** Returns the URL that the router matches. The received URL stays in `request.originalUrl`. */
export type RewriteUrl = (url: string) => string;

/** Makes the Fastify adapter of every HTTP process. `trustProxy` lists the peers whose X-Forwarded-For is trusted. */
export function createHttpAdapter(trustProxy: readonly string[], rewriteUrl?: RewriteUrl): FastifyAdapter {
  const adapter = new FastifyAdapter({
    bodyLimit: SMALL_BODY_BYTES,
    // A request that has not arrived in this time is answered with 408, so that slow senders do not hold connections.
    requestTimeout: REQUEST_TIMEOUT_MS,
    connectionTimeout: LONGEST_SILENCE_MS,
    http: {
      headersTimeout: HEADERS_TIMEOUT_MS,
      connectionsCheckingInterval: TIMEOUT_CHECK_MS,
      // `requireHost` checks the Host header, because Node's answer has no body.
      requireHostHeader: false,
    },
    trustProxy: trustProxy.length > 0 ? [...trustProxy] : false,
    routerOptions: { maxParamLength: 512 },
    ...(rewriteUrl && { rewriteUrl: ({ url = '' }: { readonly url?: string }) => rewriteUrl(url) }),
    genReqId: ({ headers }: IncomingMessage) => requestIdOf(headers),
    // Nest matches middleware by path, and an encoded path can avoid that match. So all checks are in guards instead.
    skipMiddie: true,
    forceCloseConnections: 'idle',
    return503OnClosing: false,
    logger: false,
    frameworkErrors: answerUnroutable as FastifyServerOptions['frameworkErrors'],
    clientErrorHandler: answerUnparsable,
  });
  const server: FastifyInstance = adapter.getInstance();
  server.server.on('timeout', endSilent);
  requireHost(server);
  refuseExpectations(server);
  acceptEmptyJson(server);
  applyBodyLimits(server);
  // Fastify would also parse text/plain, and a route would then get a string as its body.
  server.removeContentTypeParser('text/plain');
  return adapter;
}

/**
 * Ends a connection without traffic. Otherwise a reader who takes no bytes of an answer would keep the answer in our memory for ever. The
 * connection of such a reader is reset, because after an orderly end the kernel would keep the rest of the answer, up to 4 MB.
 */
function endSilent(socket: Socket): void {
  if (socket.writableLength > 0) socket.resetAndDestroy();
  else socket.destroy();
}

/** The body as it arrived: to check a signature, or to read numbers more exactly than JSON.parse does. */
export interface WithRawBody {
  rawBody?: string;
}

/** Accepts an empty body with the JSON content type, which many clients send. */
function acceptEmptyJson(server: FastifyInstance): void {
  const parse = server.getDefaultJsonParser('error', 'error');
  server.decorateRequest('rawBody', undefined);
  server.addContentTypeParser('application/json', { parseAs: 'string' }, (request, body, done) => {
    (request as WithRawBody).rawBody = body as string;
    if (body === '' || isBodyUnparsed(request)) done(null, undefined);
    else
      void parse(request, body as string, (error, value) =>
        done(error && parseErrorOf(error, body as string), value),
      );
  });
}

// Limits the path in the answer for a body with ten thousand nested levels.
const LONGEST_PATH = 200;

/** If parsing failed because of a key that would change an object's prototype, returns an error with the key's path. */
function parseErrorOf(error: Error, body: string): Error {
  const path = forbiddenPath(parsed(body));
  return path ? new InvalidInput([`${shortened(path)}: Not allowed`]) : error;
}

function forbiddenPath(value: unknown): string | undefined {
  const pending: Array<readonly [value: unknown, path: string]> = [[value, '']];
  for (let next = pending.pop(); next; next = pending.pop()) {
    const [current, path] = next;
    if (typeof current !== 'object' || current === null) continue;
    for (const [key, child] of Object.entries(current)) {
      const childPath = path ? `${path}.${key}` : key;
      if (key === '__proto__' || (key === 'constructor' && hasPrototype(child))) return childPath;
      pending.push([child, childPath]);
    }
  }
  return undefined;
}

function hasPrototype(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, 'prototype');
}

function parsed(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}

function shortened(path: string): string {
  return path.length <= LONGEST_PATH ? path : `${path.slice(0, LONGEST_PATH)}…`;
}
