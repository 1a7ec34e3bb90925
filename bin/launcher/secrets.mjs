import { randomBytes, randomUUID } from 'node:crypto';
import path from 'node:path';
import { readJson, writeAtomically } from './files.mjs';

const random = (bytes = 24) => randomBytes(bytes).toString('base64url');

// Everything a development system has to keep to itself or keep the same, each made once.
const makers = {
  JWT_SECRET: () => random(32),
  ENCRYPTION_KEYS: () => `1:${randomBytes(32).toString('base64')}`, // version:key
  INGEST_API_KEYS: () => random(),
  STRAVA_CLIENT_ID: () => '10001',
  STRAVA_CLIENT_SECRET: () => random(),
  STRAVA_WEBHOOK_VERIFY_TOKEN: () => random(),
  STRAVA_WEBHOOK_PATH_SECRET: () => random(),
  OURA_CLIENT_ID: () => 'pacekeeper-oura',
  OURA_CLIENT_SECRET: () => random(),
  WHOOP_CLIENT_ID: () => 'pacekeeper-whoop',
  WHOOP_CLIENT_SECRET: () => random(),
  athlete_id: () => randomUUID(),
  other_athlete_id: () => randomUUID(),
  admin_id: () => randomUUID(),
};

const fileIn = (folder) => path.join(folder, 'secrets.json');

/** The secrets of this folder; those that a later version added are made now. */
export function ensureSecrets(folder) {
  const secrets = readSecrets(folder) ?? {};
  for (const [name, make] of Object.entries(makers)) secrets[name] ??= make();
  writeAtomically(fileIn(folder), `${JSON.stringify(secrets, null, 2)}\n`, { mode: 0o600 });
  return secrets;
}

export const readSecrets = (folder) => readJson(fileIn(folder));
