import { type VendorConfig } from '#platform';
import { getWithToken, type OAuthFacts, type OAuthRequest, type VendorAccount } from '../oauth.js';

/**
 * Polar's OAuth. A token lives for about a year and cannot be renewed. Only data that is uploaded after `POST /v3/users` is ever visible.
 * `DELETE /v3/users/{id}` ends the registration and the token.
 */
export const oauth: OAuthFacts = {
  authorizeUrl: ({ oauthUrl }) => `${oauthUrl}/authorization`,
  tokenUrl: ({ oauthUrl, tokenUrl }) => tokenUrl ?? `${oauthUrl}/token`,
  clientAuth: 'basic',
  accountField: ['x_user_id'],
  scopes: ['accesslink.read_all'],
  requiredScopes: [['accesslink.read_all']],
  scopeSeparator: ' ',
  grantedScopesIn: 'nowhere',
  pkce: false,
  registration: {
    request: ({ apiUrl }, { token }, memberId) => ({
      ...getWithToken(`${apiUrl}/users`, token),
      method: 'POST',
      json: { 'member-id': memberId },
    }),
    conflictStatus: 409,
    confirmation: userRequest,
    consentsMissingStatus: 403,
  },
  revocation: {
    token: 'access',
    request: (config, _client, account) => ({ ...userRequest(config, account), method: 'DELETE' }),
    goneStatuses: [401, 404],
    isCharged: true,
  },
  refresh: 'none',
  renewableMs: 0,
};

function userRequest({ apiUrl }: VendorConfig, { token, vendorAthleteId }: VendorAccount): OAuthRequest {
  return getWithToken(`${apiUrl}/users/${vendorAthleteId}`, token);
}
