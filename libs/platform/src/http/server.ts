import { type IncomingMessage } from 'node:http';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { type FastifyInstance, type FastifyServerOptions } from 'fastify';
import { applyBodyLimits } from './body-limit.js';
import { refusalOf } from './forbidden-keys.js';
import { answerUnparsable, answerUnroutable, refuseExpectations, requireHost } from './refusals.js';
import { requestIdOf } from './request-id.js';

const BODY_LIMIT_BYTES = 1024 * 1024;
const REQUEST_TIMEOUT_MS = 30_000;
const HEADERS_TIMEOUT_MS = 10_000;
const TIMEOUT_CHECK_MS = 5_000;

/** From a URL as it came to one that the router can read; `request.originalUrl` keeps the former. */
export type RewriteUrl = (url: string) => string;

/** Fastify as every HTTP process of ours runs it. `trustProxy` names the peers whose X-Forwarded-For is believed. */
export function createHttpAdapter(trustProxy: readonly string[], rewriteUrl?: RewriteUrl): FastifyAdapter {
  const adapter = new FastifyAdapter({
    bodyLimit: BODY_LIMIT_BYTES,
    // Slow senders are cut: a request that has not arrived by then never will.
    requestTimeout: REQUEST_TIMEOUT_MS,
    http: {
      headersTimeout: HEADERS_TIMEOUT_MS,
      connectionsCheckingInterval: TIMEOUT_CHECK_MS,
      // We check it ourselves, for the answer's sake.
      requireHostHeader: false,
    },
    trustProxy: trustProxy.length > 0 ? [...trustProxy] : false,
    routerOptions: { maxParamLength: 512 },
    ...(rewriteUrl && { rewriteUrl: ({ url = '' }: { readonly url?: string }) => rewriteUrl(url) }),
    genReqId: ({ headers }: IncomingMessage) => requestIdOf(headers),
    // Nest middleware runs by path, which an encoded path can slip past; what we check, we check in guards.
    skipMiddie: true,
    forceCloseConnections: 'idle',
    return503OnClosing: false,
    logger: false,
    frameworkErrors: answerUnroutable as FastifyServerOptions['frameworkErrors'],
    clientErrorHandler: answerUnparsable,
  });
  const server: FastifyInstance = adapter.getInstance();
  requireHost(server);
  refuseExpectations(server);
  acceptEmptyJson(server);
  applyBodyLimits(server);
  // Only JSON is taken. Fastify would parse text/plain as well, and a route would then see a string for a body.
  server.removeContentTypeParser('text/plain');
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
    else
      void parse(request, body as string, (error, value) =>
        done(error && refusalOf(error, body as string), value),
      );
  });
}
