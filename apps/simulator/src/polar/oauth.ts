import { type FastifyInstance } from 'fastify';
import { basicCredentials } from '../core/index.js';
import { authorizeRoutes } from '../wearables/authorize.routes.js';
import { type Fields, type OAuthError, one } from '../wearables/oauth-vendor.js';
import { hasRoomFor } from '../wearables/vendor-tokens.js';
import { NEW_ATHLETE_RECORDS, SCOPE } from './polar-facts.js';
import { type Polar } from './polar.js';

/** https://flow.polar.com/oauth2 and https://polarremote.com/v2/oauth2. There is no refresh token and no revocation. */
export function polarOAuth(app: FastifyInstance, polar: Polar): void {
  const { athletes, client, core, habits, tokens } = polar;
  authorizeRoutes(app, {
    name: 'Polar',
    authorizePath: '/oauth2/authorization',
    scopes: [SCOPE],
    client,
    tokens,
    people: () => athletes.all(),
    addPerson: () => polar.addAthlete({ exercises: NEW_ATHLETE_RECORDS, nights: NEW_ATHLETE_RECORDS }),
    hasRoomFor: (athleteId) => hasRoomFor(core, 'polar', tokens, athleteId),
    registeredRedirects: () => habits.now.redirect_urls,
    returnsScope: false,
  });
  tokenRoute(app, polar);
}

function tokenRoute(app: FastifyInstance, polar: Polar): void {
  const config = { endpoint: 'token' };
  app.post<{ Body: Fields | undefined }>('/v2/oauth2/token', { config }, ({ body, headers }, reply) => {
    void reply.header('cache-control', 'no-store');
    const refuse = (status: number, error: OAuthError) => reply.code(status).send({ error });
    const shown = basicCredentials(headers.authorization);
    if (!polar.client.recognises(shown?.client_id, shown?.client_secret))
      return refuse(polar.habits.now.invalid_client_status, 'invalid_client');
    const code = one(body?.code);
    const grantType = one(body?.grant_type);
    if (grantType === undefined || !code) return refuse(400, 'invalid_request');
    if (grantType !== 'authorization_code') return refuse(400, 'unsupported_grant_type');
    const pair = polar.exchange(code, one(body?.redirect_uri));
    if (!pair) return refuse(400, 'invalid_grant');
    return reply.send({
      access_token: pair.accessToken,
      token_type: 'bearer',
      expires_in: pair.expiresInSeconds,
      x_user_id: Number(pair.athleteId),
    });
  });
}
