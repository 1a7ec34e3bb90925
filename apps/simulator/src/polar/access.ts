import { type FastifyRequest } from 'fastify';
import { basicCredentials, bearerOf, type TokenInfo } from '../core/index.js';
import { SCOPE } from './polar-facts.js';
import { PolarProblem } from './polar-problem.js';
import { type Polar } from './polar.js';
import { type Registration } from './registrations.js';

export const MISSING_CONSENTS = 'The user has not accepted the mandatory consents';

/** Throws 401 for a token that is unknown or expired and 403 for missing consents, as the habits say. */
export function requireToken(polar: Polar, request: FastifyRequest): TokenInfo {
  const info = polar.tokens.find(bearerOf(request) ?? '');
  if (!info || info.state === 'expired') throw new PolarProblem(401, 'The access token is not valid');
  if (info.state === 'revoked') {
    throw new PolarProblem(polar.habits.now.revoked_status, 'The access token has been revoked');
  }
  if (!info.scopes.includes(SCOPE)) throw new PolarProblem(403, `The token has no scope ${SCOPE}`);
  if (polar.registrations.lacksConsents(info.athleteId)) throw new PolarProblem(403, MISSING_CONSENTS);
  return info;
}

/** The token's user; nothing can be read before `POST /v3/users`. */
export function requireUser(polar: Polar, request: FastifyRequest): Registration {
  const { athleteId } = requireToken(polar, request);
  const user = polar.registrations.of(athleteId);
  if (user) return user;
  throw new PolarProblem(polar.habits.now.unregistered_status, 'The user is not registered');
}

/** The application's credentials as HTTP Basic, for the webhook calls. */
export function requireApp({ client }: Polar, request: FastifyRequest): void {
  const shown = basicCredentials(request.headers.authorization);
  if (!client.recognises(shown?.client_id, shown?.client_secret)) {
    throw new PolarProblem(401, 'The client credentials are not valid');
  }
}
