import { type FastifyRequest } from 'fastify';
import { type TokenInfo } from '../core/index.js';
import { bearerOf } from '../wearables/bearer.js';
import { type SCOPES } from './whoop-facts.js';
import { INVALID_AUTHORIZATION, WhoopProblem } from './whoop-problem.js';
import { type Whoop } from './whoop.js';

/** The documented statuses have no 403: a token without the scope is as invalid as a dead one. */
export function requireAccess(
  whoop: Whoop,
  request: FastifyRequest,
  scope?: (typeof SCOPES)[number],
): TokenInfo {
  const info = whoop.tokens.find(bearerOf(request) ?? '');
  const mayRead = scope === undefined || info?.scopes.includes(scope);
  if (info?.state !== 'valid' || !mayRead) throw new WhoopProblem(401, INVALID_AUTHORIZATION);
  return info;
}
