import { type FastifyInstance } from 'fastify';
import { authorizeRoutes } from '../wearables/authorize.routes.js';
import { type OAuthVendor } from '../wearables/oauth-vendor.js';
import { tokenRoutes } from '../wearables/token.routes.js';
import { hasRoomFor } from '../wearables/vendor-tokens.js';
import { NEW_ATHLETE_NIGHTS, SCOPES } from './oura-facts.js';
import { problemBody } from './oura-problem.js';
import { type Oura } from './oura.js';

export function ouraOAuth(app: FastifyInstance, oura: Oura): void {
  const vendor = oauthVendor(oura);
  authorizeRoutes(app, vendor);
  tokenRoutes(app, vendor);
  revokeRoutes(app, oura);
}

function oauthVendor(oura: Oura): OAuthVendor {
  const { athletes, client, core, tokens } = oura;
  return {
    name: 'Oura',
    authorizePath: '/oauth/authorize',
    tokenPath: '/oauth/token',
    scopes: SCOPES,
    client,
    tokens,
    people: () => athletes.all(),
    addPerson: () => oura.addAthlete({ nights: NEW_ATHLETE_NIGHTS }),
    hasRoomFor: (athleteId) => hasRoomFor(core, 'oura', tokens, athleteId),
    tokenAnswer: ({ accessToken, refreshToken, expiresInSeconds, scopes }) => ({
      token_type: 'bearer',
      access_token: accessToken,
      expires_in: expiresInSeconds,
      refresh_token: refreshToken,
      scope: scopes.join(' '),
    }),
    errorAnswer: (status, error, description) => ({
      ...problemBody(status, description),
      error,
      error_description: description,
    }),
  };
}

function revokeRoutes(app: FastifyInstance, { tokens }: Oura): void {
  for (const method of ['GET', 'POST'] as const) {
    app.route<{ Querystring: { access_token?: string }; Body: { access_token?: string } | undefined }>({
      method,
      url: '/oauth/revoke',
      config: { endpoint: 'revoke' },
      handler({ query, body }, reply) {
        tokens.revoke(query.access_token ?? body?.access_token ?? '');
        // RFC 7009: an unknown token counts as revoked.
        return reply.code(200).send();
      },
    });
  }
}
