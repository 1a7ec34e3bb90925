// The simulated vendors of `npm start`. A new vendor is one entry in each list.

/** The simulator's path for each URL variable. */
export const vendorPaths = {
  STRAVA_API_URL: '/api/v3',
  STRAVA_OAUTH_URL: '/oauth',
  OURA_API_URL: '/oura',
  OURA_OAUTH_URL: '/oura/oauth',
  WHOOP_API_URL: '/whoop',
  WHOOP_OAUTH_URL: '/whoop/oauth/oauth2',
  POLAR_API_URL: '/polar/v3',
  POLAR_OAUTH_URL: '/polar/oauth2',
  POLAR_TOKEN_URL: '/polar/v2/oauth2/token',
  BROKER_URL: '/broker',
};

/** The app's client id at each vendor. */
export const vendorClients = {
  STRAVA_CLIENT_ID: '10001',
  OURA_CLIENT_ID: 'pacekeeper-oura',
  WHOOP_CLIENT_ID: 'pacekeeper-whoop',
  POLAR_CLIENT_ID: 'pacekeeper-polar',
};

/** Secrets of the app. Each is made at random, once per folder (`secrets.mjs`). */
export const vendorSecrets = [
  'STRAVA_CLIENT_SECRET',
  'STRAVA_WEBHOOK_VERIFY_TOKEN',
  'STRAVA_WEBHOOK_PATH_SECRET',
  'OURA_CLIENT_SECRET',
  'WHOOP_CLIENT_SECRET',
  'POLAR_CLIENT_SECRET',
];
