import { type VendorSettings } from '#platform';
import { getWithToken, type OAuthFacts } from '../oauth.js';
import { type Vendor } from '../vendor.js';
import { limits } from './limits.js';
import { WhoopSleeps } from './sleep.js';
import { whoopWebhook as webhook } from './webhook.js';

const settings = {
  prefix: 'WHOOP',
  apiUrl: 'https://api.prod.whoop.com/developer',
  oauthUrl: 'https://api.prod.whoop.com/oauth/oauth2',
  extras: {},
} as const satisfies VendorSettings;

const oauth: OAuthFacts = {
  authorizeUrl: ({ oauthUrl }) => `${oauthUrl}/auth`,
  tokenUrl: ({ oauthUrl }) => `${oauthUrl}/token`,
  // Without `offline` there is no refresh token.
  scopes: ['offline', 'read:profile', 'read:sleep'],
  requiredScopes: [['offline'], ['read:profile'], ['read:sleep']],
  scopeSeparator: ' ',
  grantedScopesIn: 'token answer',
  pkce: false,
  refreshExtras: { scope: 'offline' },
  profile: {
    request: ({ apiUrl }, token) => getWithToken(`${apiUrl}/v2/user/profile/basic`, token),
    idField: 'user_id',
  },
  revocation: {
    token: 'access',
    request: ({ apiUrl }, _client, { token }) => ({
      ...getWithToken(`${apiUrl}/v2/user/access`, token),
      method: 'DELETE',
    }),
    goneStatuses: [401],
    isCharged: true,
  },
  renewableMs: 30 * 60_000,
};

export const whoop: Vendor<typeof settings> = {
  id: 'whoop',
  title: 'WHOOP',
  oauth,
  limits,
  settings,
  webhook,
  sleep: (calls) => new WhoopSleeps(calls),
};
