import { type FastifyInstance } from 'fastify';
import { basicCredentials, type TokenPair } from '../../core/index.js';
import { athleteJson, summaryAthlete } from '../athlete-json.js';
import { badRequest, StravaFault, TOO_MANY_ATHLETES } from '../strava-fault.js';
import { type Strava } from '../strava.js';
import { checkClient, type Fields, fieldsOf } from './credentials.js';

export function tokenRoutes(app: FastifyInstance, strava: Strava, path: string): void {
  app.post(path, { config: { endpoint: 'token' } }, (request, reply) => {
    const fields = { ...fieldsOf(request), ...basicCredentials(request.headers.authorization) };
    checkClient(strava.core.app('strava'), fields);
    void reply.type('application/json; charset=utf-8').send(answer(strava, fields));
  });
}

function answer(strava: Strava, fields: Fields): string {
  switch (fields['grant_type']) {
    case 'authorization_code':
    // Older clients send no grant type when they exchange a code.
    case undefined:
      return exchanged(strava, fields['code']);
    case 'refresh_token':
      return refreshed(strava, fields['refresh_token']);
    default:
      throw badRequest('Application', 'grant_type');
  }
}

function exchanged(strava: Strava, code = ''): string {
  const pair = strava.exchange(code);
  if (pair === 'full') throw new StravaFault(403, TOO_MANY_ATHLETES);
  if (!pair) throw badRequest('AuthorizationCode', 'code');
  const athlete = summaryAthlete(strava.profile(pair.athleteId)!, strava.createdAtMs(pair.athleteId));
  return athleteJson({ ...tokenFields(pair), athlete });
}

/** The answer to a refresh has no athlete. The answer to an exchange has one. */
function refreshed(strava: Strava, refreshToken = ''): string {
  const pair = strava.tokens.refresh(refreshToken);
  if (!pair) throw badRequest('RefreshToken', 'refresh_token');
  return JSON.stringify(tokenFields(pair));
}

function tokenFields({ accessToken, refreshToken, expiresAtSeconds, expiresInSeconds }: TokenPair) {
  return {
    token_type: 'Bearer',
    expires_at: expiresAtSeconds,
    expires_in: expiresInSeconds,
    refresh_token: refreshToken,
    access_token: accessToken,
  };
}
