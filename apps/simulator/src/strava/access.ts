import { type FastifyRequest } from 'fastify';
import { type Activity } from '#training-world';
import { type TokenInfo, type TokenStore } from '../core/index.js';
import { invalidToken, missingScope } from './strava-fault.js';

export type Access = Pick<TokenInfo, 'athleteId' | 'scopes'>;

/** The token from the bearer header. Without an authorization header, the token from `access_token` in the query. */
export function accessTokenOf(request: FastifyRequest): string | undefined {
  const header = request.headers.authorization;
  if (header !== undefined) return /^Bearer\s+(\S+)$/i.exec(header)?.[1];
  const { access_token: inQuery } = request.query as Record<string, unknown>;
  return typeof inQuery === 'string' ? inQuery : undefined;
}

export function authenticate(tokens: TokenStore, request: FastifyRequest): Access {
  const info = tokens.find(accessTokenOf(request) ?? '');
  if (info?.state !== 'valid') throw invalidToken();
  return info;
}

export function authenticateReader(tokens: TokenStore, request: FastifyRequest): Access {
  const access = authenticate(tokens, request);
  if (!mayReadActivities(access.scopes)) throw missingScope('activity:read');
  return access;
}

export function authenticateWriter(tokens: TokenStore, request: FastifyRequest): Access {
  const access = authenticate(tokens, request);
  if (!access.scopes.includes('activity:write')) throw missingScope('activity:write');
  return access;
}

export function isPrivate({ overrides }: Activity): boolean {
  return overrides?.private ?? overrides?.visibility === 'only_me';
}

function mayReadActivities(scopes: Iterable<string>): boolean {
  const held = new Set(scopes);
  return held.has('activity:read') || held.has('activity:read_all');
}

/** A token sees "Only you" activities only with the scope `activity:read_all`. */
export function isVisibleWith(scopes: readonly string[]): (activity: Activity) => boolean {
  return scopes.includes('activity:read_all') ? () => true : (activity) => !isPrivate(activity);
}
