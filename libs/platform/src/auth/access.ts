import { applyDecorators, type ExecutionContext, SetMetadata } from '@nestjs/common';
import { ApiExtension } from '@nestjs/swagger';
import { type FastifyRequest } from 'fastify';
import { RouteFacts } from '../http/route-facts.js';
import { type Caller, type SpanningCaller } from './caller.js';

export type Access = 'public' | 'admin' | 'service' | 'token' | 'session';
export const ACCESS = Symbol('access');
export const SCOPES = Symbol('scopes');
/** The OpenAPI document derives an operation's security, 401 and 403 from these extensions. */
export const ACCESS_EXTENSION = 'x-access';
export const SCOPES_EXTENSION = 'x-scopes';

/** The requirements of a route, as its decorators declare them. */
export interface Requirements {
  readonly access?: Access;
  /** A service key needs one of these. Absent: `read` for GET and HEAD, `write` for all other methods. */
  readonly scopes?: readonly string[];
}

/** The route needs no token. A route without this decorator needs a token. */
export const Public = () => access('public');

/** The route needs a token with the role `admin`. */
export const Admin = () => access('admin');

/** The route needs a service key; the token of a person is answered with 403. */
export const ServiceOnly = () => access('service');

/** The route needs the token of a person: a session or a service key is answered with 403. */
export const TokenOnly = () => access('token');

/** The route needs the cookie of a session: a token is answered with 401, a service key with 403. */
export const SessionOnly = () => access('session');

/** A service key needs one of these scopes, in place of the scope that follows from the method. */
export const NeedsScope = (...scopes: string[]) =>
  applyDecorators(
    SetMetadata(SCOPES, scopes),
    RouteFacts({ scopes }),
    ApiExtension(SCOPES_EXTENSION, scopes),
  );

export function scopesOf(method: string, { scopes }: Requirements): readonly string[] {
  return scopes ?? [method === 'GET' || method === 'HEAD' ? 'read' : 'write'];
}

/**
 * Sets metadata for the guard and the OpenAPI document. Hooks run before Nest knows the handler, so the access is also part of the route's
 * configuration.
 */
const access = (kind: Access) =>
  applyDecorators(
    SetMetadata(ACCESS, kind),
    RouteFacts({ access: kind }),
    ApiExtension(ACCESS_EXTENSION, kind),
  );

/** The request in a guard. On a public route it has no caller. */
export interface GuardedRequest extends FastifyRequest {
  caller?: SpanningCaller;
  /** The throttle has counted the request. */
  isCharged?: boolean;
}

/**
 * The request in the handler of a route that is not public. A handler takes it by `@Req()`. A parameter decorator of our own would pass
 * through Nest's validation pipe. The pipe makes five promises, which take about 2 µs of the 35 µs of a trivial request.
 */
export interface AuthenticatedRequest extends FastifyRequest {
  readonly caller: Caller;
}

/** The request in the handler of a route that a service key may call without naming an athlete. */
export interface SpanningRequest extends FastifyRequest {
  readonly caller: SpanningCaller;
}

/** Faster than `switchToHttp()`, which makes three closures per guard and request. */
export function requestOf(context: ExecutionContext): GuardedRequest {
  return context.getArgByIndex<GuardedRequest>(0);
}
