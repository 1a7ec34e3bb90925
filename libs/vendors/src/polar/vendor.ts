import { type VendorSettings } from '#platform';
import { type Vendor } from '../vendor.js';
import { PolarExercises, PolarNights } from './api.js';
import { readPolarFault } from './fault.js';
import { limits } from './limits.js';
import { oauth } from './oauth.js';
import { polarWebhook as webhook } from './webhook.js';

/** The authorize page, the token endpoint and the API are on three hosts. */
const settings = {
  prefix: 'POLAR',
  apiUrl: 'https://www.polaraccesslink.com/v3',
  oauthUrl: 'https://flow.polar.com/oauth2',
  tokenUrl: 'https://polarremote.com/v2/oauth2/token',
  extras: {},
} as const satisfies VendorSettings;

/** Polar AccessLink, version 3. */
export const polar: Vendor<typeof settings> = {
  id: 'polar',
  title: 'Polar',
  oauth,
  limits,
  settings,
  webhook,
  readFault: readPolarFault,
  activities: (calls) => new PolarExercises(calls),
  streams: (calls) => new PolarExercises(calls),
  sleep: (calls) => new PolarNights(calls),
};
