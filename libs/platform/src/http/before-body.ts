import { type Type } from '@nestjs/common';
import { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { type GuardedRequest, type Requirements } from '../auth/access.js';
import { RouteFacts } from './route-facts.js';

/** Throws if the headers show that the caller may not send this request. */
export interface SenderCheck {
  admit(request: FastifyRequest): true | Promise<true>;
}

/**
 * Declares the check of a public route that has its own key. The check runs before the body is read. The guard of the route checks the key
 * again.
 */
export const CheckSender = (check: Type<SenderCheck>) => RouteFacts({ senderCheck: check });

interface RouteConfiguration extends Requirements {
  readonly senderCheck?: Type<SenderCheck>;
}

interface Checks {
  /** Checks and charges the caller, as the global guard does. */
  admit(request: GuardedRequest, reply: FastifyReply, needed: Requirements): true | Promise<true>;
  find(check: Type<SenderCheck>): SenderCheck;
}

/**
 * Guards run after the body is parsed. A megabyte of nested lists costs 100 ms to parse, and any sender could send it; a body that cannot be
 * parsed would not even reach the throttle. So this hook checks and charges a request with a body before the body is read. As in the guard, a
 * route is public only if it is declared public.
 */
export function checkRequestsWithBodies(server: FastifyInstance, checks: Checks): void {
  server.addHook('onRequest', (request, reply, done) => {
    if (request.routeOptions.url === undefined || !hasBody(request)) return done();
    check(request, reply, checks).then(() => done(), done);
  });
}

async function check(request: FastifyRequest, reply: FastifyReply, checks: Checks): Promise<void> {
  const needed = request.routeOptions.config as RouteConfiguration;
  if (needed.access !== 'public') await checks.admit(request, reply, needed);
  else if (needed.senderCheck) await checks.find(needed.senderCheck).admit(request);
  if (!isPlainUtf8(request))
    throw Object.assign(new Error('The body is not plain UTF-8'), { statusCode: 415 });
}

function hasBody({ headers }: FastifyRequest): boolean {
  const length = headers['content-length'];
  return headers['transfer-encoding'] !== undefined || (length !== undefined && length !== '0');
}

/**
 * Far more than the few short fields of most routes, and cheap: a malformed megabyte took 54 ms. This is the limit of every route without
 * `BodyLimit`, even of a route that takes no body, because the server would parse its body, too.
 */
export const SMALL_BODY_BYTES = 64 * 1024;
export const LARGEST_BODY_BYTES = 1024 * 1024;

/** Sets another body limit than 64 KB for a handler. A larger body is answered with 413 and not read to its end. */
export const BodyLimit = (bytes: number) => RouteFacts({ bodyLimitBytes: bytes });

/** Does not parse the body, for a route that checks a signature first. The handler reads the text that arrived from `rawBody`. */
export const UnparsedBody = () => RouteFacts({ isBodyUnparsed: true });

export function isBodyUnparsed({ routeOptions }: FastifyRequest): boolean {
  return (routeOptions.config as { readonly isBodyUnparsed?: boolean }).isBodyUnparsed === true;
}

export function applyBodyLimits(server: FastifyInstance): void {
  server.addHook('onRoute', (route) => {
    const { bodyLimitBytes } = (route.config ?? {}) as { bodyLimitBytes?: number };
    if (bodyLimitBytes !== undefined) route.bodyLimit = bodyLimitBytes;
  });
}

/** False for a body that declares compression, or a charset other than UTF-8 or US-ASCII. Bodies are read as UTF-8 and never decompressed. */
function isPlainUtf8({ headers }: FastifyRequest): boolean {
  const coding = headers['content-encoding']?.trim().toLowerCase() ?? 'identity';
  const [, charset = 'utf-8'] = /;\s*charset\s*=\s*"?([^\s";]+)/i.exec(headers['content-type'] ?? '') ?? [];
  return (coding === 'identity' || coding === '') && /^(?:utf-?8|us-ascii)$/i.test(charset);
}
