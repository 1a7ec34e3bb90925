import { type FastifyInstance } from 'fastify';
import { type TokenPair } from '../core/index.js';
import { authorizeRoutes } from '../wearables/authorize.routes.js';
import { type OAuthVendor } from '../wearables/oauth-vendor.js';
import { tokenRoutes } from '../wearables/token.routes.js';
import { hasRoomFor } from '../wearables/vendor-tokens.js';
import { NEW_ATHLETE_NIGHTS, OFFLINE_SCOPE, SCOPES } from './whoop-facts.js';
import { type Whoop } from './whoop.js';

export function whoopOAuth(app: FastifyInstance, whoop: Whoop): void {
  const vendor = oauthVendor(whoop);
  authorizeRoutes(app, vendor);
  tokenRoutes(app, vendor);
}

function oauthVendor(whoop: Whoop): OAuthVendor {
  const { athletes, client, core, tokens } = whoop;
  return {
    name: 'WHOOP',
    authorizePath: '/oauth/oauth2/auth',
    tokenPath: '/oauth/oauth2/token',
    scopes: SCOPES,
    client,
    tokens,
    people: () => athletes.all(),
    addPerson: () => whoop.addAthlete({ nights: NEW_ATHLETE_NIGHTS }),
    hasRoomFor: (athleteId) => hasRoomFor(core, 'whoop', tokens, athleteId),
    tokenAnswer,
    errorAnswer: (_status, error, description) => ({ error, error_description: description }),
  };
}

/** Contains a refresh token only if the consent included the scope `offline`. */
function tokenAnswer({
  accessToken,
  refreshToken,
  expiresInSeconds,
  scopes,
}: TokenPair): Record<string, unknown> {
  return {
    access_token: accessToken,
    expires_in: expiresInSeconds,
    ...(scopes.includes(OFFLINE_SCOPE) && { refresh_token: refreshToken }),
    scope: scopes.join(' '),
    token_type: 'bearer',
  };
}
