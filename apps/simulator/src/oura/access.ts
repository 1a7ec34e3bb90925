import { type FastifyRequest } from 'fastify';
import { bearerOf, type TokenInfo } from '../core/index.js';
import { OuraDetail, OuraProblem } from './oura-problem.js';
import { type Oura } from './oura.js';

const UNKNOWN_TOKEN = 'Access token not provided or is invalid.';
const DEAD_TOKEN = { expired: 'Token has expired.', revoked: 'Token already used or revoked.' } as const;

export function requireAccess(oura: Oura, request: FastifyRequest, scope?: string): TokenInfo {
  const info = oura.tokens.find(bearerOf(request) ?? '');
  if (!info) throw new OuraProblem(401, UNKNOWN_TOKEN);
  if (info.state !== 'valid') throw new OuraProblem(401, DEAD_TOKEN[info.state]);
  if (scope !== undefined && !info.scopes.includes(scope)) {
    throw missingScope(oura, scope);
  }
  return info;
}

/** Five sources saw 401 for a missing scope and one saw 403, so 401 is the default. A token refresh does not help. */
function missingScope({ habits }: Oura, scope: string): OuraDetail | OuraProblem {
  return habits.now.missing_scope_status === 401
    ? new OuraDetail(401, `Token is not authorized access ${scope} scope.`)
    : new OuraProblem(403, `Missing required scope: ${scope}`);
}
