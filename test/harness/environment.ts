import { randomUUID } from 'node:crypto';
import { SignJWT } from 'jose';
import { createTestDatabase, type TestDatabase } from './test-database.js';
import { required } from './servers.js';

export const JWT_SECRET = 'a-secret-for-tests-of-at-least-32-characters';

export interface TestEnvironment {
  readonly env: Record<string, string>;
  release(): Promise<void>;
}

/** The environment of a process: a database of its own, and Redis keys of its own on the shared Redis. NATS is shared. */
export async function testEnvironment(
  overrides: Record<string, string> = {},
  database?: TestDatabase,
): Promise<TestEnvironment> {
  const { url, drop } = database ?? (await createTestDatabase());
  const env = {
    DATABASE_URL: url,
    REDIS_URL: required('REDIS_URL'),
    REDIS_KEY_PREFIX: `test:${randomUUID()}:`,
    NATS_URL: required('NATS_URL'),
    HOST: '127.0.0.1',
    PORT: '0',
    WORKER_PORT: '0',
    JWT_SECRET,
    ENCRYPTION_KEYS: `1:${Buffer.alloc(32, 7).toString('base64')}`,
    ...overrides,
  };
  return { env, release: drop };
}

const TOKEN_LIVES_MS = 3_600_000;

/** `nowMs`: the time by the clock of the token's issuer. */
export function tokenFor(
  subject: string,
  claims: Record<string, unknown> = {},
  secret = JWT_SECRET,
  nowMs = Date.now(),
): Promise<string> {
  return new SignJWT({ ...claims })
    .setProtectedHeader({ alg: 'HS256' })
    .setSubject(subject)
    .setIssuedAt(new Date(nowMs))
    .setExpirationTime(new Date(nowMs + TOKEN_LIVES_MS))
    .sign(new TextEncoder().encode(secret));
}
