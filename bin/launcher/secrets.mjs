// The secrets of a development system, and the tokens that it signs with these secrets.
import { createHmac, randomBytes, randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { readJson, writeAtomically } from './files.mjs';
import { Failure } from './terminal.mjs';
import { vendorClients, vendorSecrets } from './vendors.mjs';

export const JWT_ISSUER = 'pacekeeper-local';
export const JWT_AUDIENCE = 'pacekeeper';
const VALID_FOR_SECONDS = 30 * 24 * 3600;

export const randomSecret = (bytes = 24) => randomBytes(bytes).toString('base64url');

// Values that must stay secret or must stay the same. Each is made once for a folder.
const makers = {
  JWT_SECRET: () => randomSecret(32),
  ENCRYPTION_KEYS: () => `1:${randomBytes(32).toString('base64')}`, // version:key
  INGEST_API_KEYS: () => randomSecret(),
  ...Object.fromEntries(Object.entries(vendorClients).map(([name, id]) => [name, () => id])),
  ...Object.fromEntries(vendorSecrets.map((name) => [name, () => randomSecret()])),
  service_key: () => `pk_${randomSecret(32)}`,
  redis_password: () => randomSecret(),
  nats_password: () => randomSecret(),
  athlete_id: () => randomUUID(),
  other_athlete_id: () => randomUUID(),
  admin_id: () => randomUUID(),
};

const fileIn = (folder) => path.join(folder, 'secrets.json');

/** Reads the secrets of this folder and makes the missing ones: all secrets at the first run, and new kinds after an upgrade. */
export function ensureSecrets(folder) {
  const secrets = readSecrets(folder) ?? {};
  for (const [name, make] of Object.entries(makers)) secrets[name] ??= make();
  writeAtomically(fileIn(folder), `${JSON.stringify(secrets, null, 2)}\n`, { mode: 0o600 });
  return secrets;
}

/** Makes one secret anew, and keeps the others. */
export function replaceSecret(folder, name) {
  const { [name]: _former, ...others } = readSecrets(folder);
  writeAtomically(fileIn(folder), `${JSON.stringify(others, null, 2)}\n`, { mode: 0o600 });
  return ensureSecrets(folder)[name];
}

/** The secrets of this folder, or null before the first run. Throws if the file is damaged: new secrets could not decrypt stored tokens. */
export function readSecrets(folder) {
  const file = fileIn(folder);
  if (!existsSync(file)) return null;
  const secrets = readJson(file);
  if (areSecrets(secrets)) return secrets;
  throw new Failure(
    `${file} is damaged and contains the key to the stored data: restore the file, or \`npm run reset\` to delete that data and start again.`,
  );
}

function areSecrets(secrets) {
  const isText = (value) => typeof value === 'string' && value !== '';
  return isText(secrets?.ENCRYPTION_KEYS) && Object.values(secrets).every(isText);
}

/** A development token: a JWT for 30 days, signed with HS256. The api must verify with the same secret, issuer and audience. */
export function makeToken({
  subject,
  isAdmin = false,
  secret,
  issuer = JWT_ISSUER,
  audience = JWT_AUDIENCE,
}) {
  const issuedAt = Math.floor(Date.now() / 1000);
  const claims = {
    sub: subject,
    iss: issuer,
    aud: audience,
    iat: issuedAt,
    exp: issuedAt + VALID_FOR_SECONDS,
    ...(isAdmin ? { role: 'admin' } : {}),
  };
  const content = `${encode({ alg: 'HS256', typ: 'JWT' })}.${encode(claims)}`;
  return `${content}.${createHmac('sha256', secret).update(content).digest('base64url')}`;
}

const encode = (value) => Buffer.from(JSON.stringify(value)).toString('base64url');
