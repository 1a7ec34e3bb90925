import path from 'node:path';
import { given } from './environment.mjs';
import { JWT_AUDIENCE, JWT_ISSUER } from './tokens.mjs';

// Each vendor's address inside the simulator.
const vendorPaths = {
  STRAVA_API_URL: '/api/v3',
  STRAVA_OAUTH_URL: '/oauth',
  OURA_API_URL: '/oura',
  OURA_OAUTH_URL: '/oura/oauth',
  WHOOP_API_URL: '/whoop',
  WHOOP_OAUTH_URL: '/whoop/oauth/oauth2',
  BROKER_URL: '/broker',
};

/** Whether anything is left for the simulator to play. */
export const needsSimulator = () => Object.keys(vendorPaths).some((name) => !given[name]);

/** The environment of every process of `npm start`: ours where the person set nothing. One list, one line each. */
export function appEnvironment({ serverUrls, secrets, ports, urls, folder }) {
  const { athlete_id, other_athlete_id, admin_id, JWT_SECRET, ...appSecrets } = secrets;
  const vendorUrls = Object.entries(vendorPaths).map(([name, below]) => [name, `${urls.simulator}${below}`]);
  return {
    TIME_SCALE: '900',
    JWT_ISSUER,
    JWT_AUDIENCE,
    PUBLIC_URL: urls.api,
    // Pacekeeper's data outlives a stop, so the vendors' must too: unknown tokens would look like athletes who left.
    SIMULATOR_STATE: path.join(folder, 'simulator.json'),
    ...(given.JWKS_URL ? {} : { JWT_SECRET }), // one or the other
    ...appSecrets,
    ...(urls.simulator ? Object.fromEntries(vendorUrls) : {}),
    ...given,
    ...serverUrls,
    PORT: String(ports.api),
    WORKER_PORT: String(ports.worker),
    SIMULATOR_PORT: String(ports.simulator),
  };
}
