import { type VendorSettings } from '#platform';
import { getWithToken, type OAuthFacts } from '../oauth.js';
import { type Vendor } from '../vendor.js';
import { readOuraFault } from './fault.js';
import { limits } from './limits.js';
import { OuraSleeps } from './sleep.js';
import { ouraWebhook as webhook } from './webhook.js';

const settings = {
  prefix: 'OURA',
  apiUrl: 'https://api.ouraring.com',
  oauthUrl: 'https://cloud.ouraring.com/oauth',
  extras: {},
} as const satisfies VendorSettings;

const oauth: OAuthFacts = {
  authorizeUrl: ({ oauthUrl }) => `${oauthUrl}/authorize`,
  tokenUrl: ({ apiUrl }) => `${apiUrl}/oauth/token`,
  scopes: ['personal', 'daily'],
  requiredScopes: [['personal'], ['daily']],
  scopeSeparator: ' ',
  grantedScopesIn: 'token answer',
  pkce: false,
  profile: {
    request: ({ apiUrl }, token) => getWithToken(`${apiUrl}/v2/usercollection/personal_info`, token),
    idField: 'id',
  },
  revocation: {
    token: 'access',
    request: ({ apiUrl }, _client, { token }) => ({
      method: 'POST',
      url: `${apiUrl}/oauth/revoke?access_token=${encodeURIComponent(token)}`,
    }),
  },
  renewableMs: 60 * 60_000,
};

export const oura: Vendor<typeof settings> = {
  id: 'oura',
  title: 'Oura',
  oauth,
  limits,
  settings,
  webhook,
  readFault: readOuraFault,
  sleep: (calls) => new OuraSleeps(calls),
};
