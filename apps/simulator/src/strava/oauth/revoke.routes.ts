import { type FastifyInstance } from 'fastify';
import { accessTokenOf } from '../access.js';
import { badRequest, invalidToken } from '../strava-fault.js';
import { type Strava } from '../strava.js';
import { checkBasicClient, fieldsOf } from './credentials.js';

export function revokeRoutes(app: FastifyInstance, strava: Strava): void {
  const config = { endpoint: 'revoke' };

  /** The old way, until 2027-06-01: the access token as bearer, in the query or in the form. */
  app.post('/deauthorize', { config }, (request, reply) => {
    const accessToken = accessTokenOf(request) ?? fieldsOf(request)['access_token'] ?? '';
    const token = strava.tokens.find(accessToken);
    if (token?.state !== 'valid') throw invalidToken();
    strava.deauthorize(token.athleteId);
    void reply.send({ access_token: accessToken });
  });

  /** Either token of a pair ends both. As RFC 7009 has it, an unknown token is no error: it is gone already. */
  app.post('/revoke', { config }, (request, reply) => {
    checkBasicClient(strava.core.app('strava'), request);
    const { token } = fieldsOf(request);
    if (!token) throw badRequest('Token', 'token', 'required');
    const athleteId = strava.tokens.ownerOf(token);
    if (athleteId !== undefined) strava.deauthorize(athleteId);
    void reply.code(200).send({});
  });
}
