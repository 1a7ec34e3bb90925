import { createHmac } from 'node:crypto';

export const JWT_ISSUER = 'pacekeeper-local';
export const JWT_AUDIENCE = 'pacekeeper';
const VALID_FOR_SECONDS = 30 * 24 * 3600;

/** A development token: HS256, signed with the secret the api checks with. */
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
