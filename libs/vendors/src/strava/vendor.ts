import { schemas, type VendorSettings } from '#platform';
import { basicAuth, type OAuthFacts } from '../oauth.js';
import { type Vendor } from '../vendor.js';
import { StravaApi } from './api.js';
import { limits } from './limits.js';
import { readStravaFault } from './wire/fault.js';
import { stravaWebhook as webhook } from './webhook.js';

const settings = {
  prefix: 'STRAVA',
  apiUrl: 'https://www.strava.com/api/v3',
  oauthUrl: 'https://www.strava.com/oauth',
  extras: {
    webhookVerifyToken: {
      variable: 'STRAVA_WEBHOOK_VERIFY_TOKEN',
      schema: schemas.text.optional(),
      isRequiredWithClient: true,
    },
    webhookPathSecret: {
      variable: 'STRAVA_WEBHOOK_PATH_SECRET',
      schema: schemas.secret(16).optional(),
      isRequiredWithClient: true,
      isMadeByUs: true,
    },
    retentionDays: { variable: 'STRAVA_RETENTION_DAYS', schema: schemas.days.optional() },
    /** Write our titles and descriptions to new activities. */
    writesBack: { variable: 'STRAVA_WRITE_BACK', schema: schemas.onOrOff.default(false) },
  },
} as const satisfies VendorSettings;

const oauth: OAuthFacts = {
  authorizeUrl: ({ oauthUrl }) => `${oauthUrl}/authorize`,
  tokenUrl: ({ oauthUrl }) => `${oauthUrl}/token`,
  accountField: ['athlete', 'id'],
  // Strava shows each scope as a checkbox, so that a person may refuse `activity:read_all` alone.
  scopes: ['read', 'activity:read', 'activity:read_all'],
  writeScopes: ['activity:write'],
  scopeLabels: {
    read: 'View data about your public profile',
    'activity:read': 'View data about your activities',
    'activity:read_all': 'View data about your private activities',
  },
  requiredScopes: [['read'], ['activity:read', 'activity:read_all']],
  scopeSeparator: ',',
  grantedScopesIn: 'redirect',
  pkce: false,
  authorizeExtras: { approval_prompt: 'auto' },
  revocation: {
    token: 'refresh',
    request: ({ oauthUrl }, client, { token }) => ({
      method: 'POST',
      url: `${oauthUrl}/revoke`,
      headers: { authorization: basicAuth(client) },
      form: { token },
    }),
  },
  renewableMs: 60 * 60_000,
};

export const strava: Vendor<typeof settings> = {
  id: 'strava',
  title: 'Strava',
  oauth,
  limits,
  settings,
  webhook,
  readFault: readStravaFault,
  account: (calls) => new StravaApi(calls),
  activities: (calls) => new StravaApi(calls),
  streams: (calls) => new StravaApi(calls),
};
