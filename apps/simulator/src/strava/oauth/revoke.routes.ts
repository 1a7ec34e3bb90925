import { type FastifyInstance } from 'fastify';
import { accessTokenOf } from '../access.js';
import { badRequest, invalidToken, notFound } from '../strava-fault.js';
import { type Strava } from '../strava.js';
import { checkBasicClient, fieldsOf } from './credentials.js';

export function revokeRoutes(app: FastifyInstance, strava: Strava): void {
  const config = { endpoint: 'revoke' };

  /** The older route, which ends on 2027-06-01 (habit `deauthorize`). The access token may be a bearer token, or stand in the query or in a form. */
  app.post('/deauthorize', { config }, (request, reply) => {
    if (!strava.habits.now.deauthorize) throw notFound('Resource');
    const accessToken = accessTokenOf(request) ?? fieldsOf(request)['access_token'] ?? '';
    const token = strava.tokens.find(accessToken);
    if (token?.state !== 'valid') throw invalidToken();
    strava.deauthorize(token.athleteId);
    void reply.send({ access_token: accessToken });
  });

  /** The access token or the refresh token revokes the grant. An unknown token is no error (RFC 7009). */
  app.post('/revoke', { config }, (request, reply) => {
    checkBasicClient(strava.core.app('strava'), request);
    const { token } = fieldsOf(request);
    if (!token) throw badRequest('Token', 'token', 'required');
    const athleteId = strava.tokens.ownerOf(token);
    if (athleteId !== undefined) strava.deauthorize(athleteId);
    void reply.code(200).send({});
  });
}
