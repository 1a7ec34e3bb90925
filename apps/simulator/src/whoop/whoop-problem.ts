import { type FastifyRequest } from 'fastify';
import { bearerOf, type TokenInfo } from '../core/index.js';
import { type SCOPES } from './whoop-facts.js';
import { type Whoop } from './whoop.js';

/** A WHOOP error. The body of the answer is a plain sentence. */
export class WhoopProblem extends Error {
  constructor(
    readonly status: 400 | 401 | 404,
    message: string,
  ) {
    super(message);
  }
}

const INVALID_AUTHORIZATION = 'Authorization was not valid';
export const NO_RESOURCE = 'No resource found';
export const RATE_LIMITED = 'Request rejected due to rate limiting';
export const SERVER_ERROR = 'Server error occurred while making request';

/** Answers 401 for a missing scope as well, because WHOOP documents no 403. */
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
