import { type FastifyRequest } from 'fastify';
import { type TokenInfo } from '../core/index.js';
import { bearerOf } from '../wearables/bearer.js';
import { OuraProblem } from './oura-problem.js';
import { type Oura } from './oura.js';

const UNKNOWN_TOKEN = 'Access token not provided or is invalid.';
const DEAD_TOKEN = { expired: 'Token has expired.', revoked: 'Token already used or revoked.' } as const;

export function requireAccess(oura: Oura, request: FastifyRequest, scope?: string): TokenInfo {
  const info = oura.tokens.find(bearerOf(request) ?? '');
  if (!info) throw new OuraProblem(401, UNKNOWN_TOKEN);
  if (info.state !== 'valid') throw new OuraProblem(401, DEAD_TOKEN[info.state]);
  if (scope !== undefined && !info.scopes.includes(scope)) {
    throw new OuraProblem(403, `Missing required scope: ${scope}`);
  }
  return info;
}
