import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { environment, foreignNames } from './environment.js';
import { ConfigInvalid, loadConfig } from './load-config.js';
import { redactConfig } from './redact-config.js';

const KEY = Buffer.alloc(32, 1).toString('base64');

const complete = {
  DATABASE_URL: 'postgres://app:s3cr3t-pw@db/pacekeeper',
  REDIS_URL: 'redis://:s3cr3t-pw@cache:6379',
  NATS_URL: 'nats://bus:4222',
  JWT_SECRET: 's3cr3t-0123456789-0123456789-0123456789',
  ENCRYPTION_KEYS: `1:${KEY}`,
  INGEST_API_KEYS: 's3cr3t-ingest-key-one,s3cr3t-ingest-key-two',
};

function problemsOf(env: Record<string, string | undefined>): readonly string[] {
  try {
    loadConfig(env);
  } catch (error) {
    if (error instanceof ConfigInvalid) return error.problems;
    throw error;
  }
  return [];
}

describe('loadConfig', () => {
  it('turns a complete environment into one typed tree with defaults', () => {
    const config = loadConfig(complete);
    expect(config.http).toEqual({
      port: 3000,
      workerPort: 3001,
      publicUrl: 'http://127.0.0.1:3000',
      returnUrls: [],
      trustProxy: [],
    });
    expect(config.timeScale).toBe(1);
    expect(config.strava.apiUrl).toBe('https://www.strava.com/api/v3');
    expect(config.strava.client).toBeUndefined();
    expect(config.ingestApiKeys).toHaveLength(2);
  });

  it('lists every problem at once and never a value', () => {
    const problems = problemsOf({
      REDIS_URL: 'http://s3cr3t-pw@cache',
      PORT: 's3cr3t-pw',
      JWT_SECRET: 's3cr3t-pw',
      TIME_SCALE: '0',
      ENCRYPTION_KEYS: '1:s3cr3t-pw',
    });
    expect(problems).toEqual([
      'DATABASE_URL: is required',
      'REDIS_URL: must be a URL starting with redis:// or rediss://',
      'NATS_URL: is required',
      'PORT: must be a port number',
      'TIME_SCALE: must be at least 1',
      'JWT_SECRET: must have at least 32 characters',
      'ENCRYPTION_KEYS: must be version:key pairs, each key 32 bytes in base64',
    ]);
    expect(problems.join()).not.toContain('s3cr3t-pw');
  });

  it('has no default for a secret, whatever the mode', () => {
    const { JWT_SECRET, ENCRYPTION_KEYS, ...rest } = complete;
    expect(problemsOf({ ...rest, NODE_ENV: 'production' })).toEqual([
      'ENCRYPTION_KEYS: is required',
      'JWT_SECRET: is required (or JWKS_URL)',
    ]);
    expect([JWT_SECRET, ENCRYPTION_KEYS].every(Boolean)).toBe(true);
  });

  it('takes either a shared secret or an issuer with its public keys', () => {
    expect(problemsOf({ ...complete, JWKS_URL: 'https://id.example/jwks' })).toEqual([
      'JWT_SECRET: cannot be combined with JWKS_URL, set one of them',
    ]);
    expect(problemsOf({ ...complete, JWT_SECRET: '', JWKS_URL: 'https://id.example/jwks' })).toEqual([
      'JWT_ISSUER: is required with JWKS_URL',
    ]);
  });

  it('suggests the name that was meant', () => {
    const { DATABASE_URL, ...rest } = complete;
    expect(problemsOf({ ...rest, DATABSE_URL: DATABASE_URL })).toEqual([
      'DATABASE_URL: is required',
      'DATABSE_URL: unknown, did you mean DATABASE_URL?',
    ]);
    expect(problemsOf({ ...complete, time_scale: '900' })).toEqual([
      'time_scale: unknown, did you mean TIME_SCALE?',
    ]);
  });

  it('is not disturbed by the names of others', () => {
    const others = {
      PATH: '/bin',
      HOME: '/',
      POSTGRES_HOST_PORT: '5432',
      SIMULATOR_PORT: '4010',
      npm_lifecycle_event: 'start',
    };
    expect(problemsOf({ ...complete, ...others })).toEqual([]);
  });

  it('wants the whole of a vendor or nothing of it', () => {
    expect(problemsOf({ ...complete, STRAVA_CLIENT_ID: '1', WHOOP_CLIENT_SECRET: 'x' })).toEqual([
      'STRAVA_CLIENT_SECRET: is required with STRAVA_CLIENT_ID',
      'STRAVA_WEBHOOK_VERIFY_TOKEN: is required with STRAVA_CLIENT_ID',
      'STRAVA_WEBHOOK_PATH_SECRET: is required with STRAVA_CLIENT_ID',
      'WHOOP_CLIENT_ID: is required with WHOOP_CLIENT_SECRET',
    ]);
  });

  it('puts the newest encryption key first and refuses a version named twice', () => {
    const { encryptionKeys } = loadConfig({ ...complete, ENCRYPTION_KEYS: `1:${KEY},3:${KEY},2:${KEY}` });
    expect(encryptionKeys.map(({ version }) => version)).toEqual([3, 2, 1]);
    expect(problemsOf({ ...complete, ENCRYPTION_KEYS: `1:${KEY},1:${KEY}` })).toEqual([
      'ENCRYPTION_KEYS: names a key version twice',
    ]);
  });

  it('prints without secrets', () => {
    const printed = JSON.stringify(redactConfig(loadConfig({ ...complete, REDIS_KEY_PREFIX: '{pk}:' })));
    expect(printed).not.toContain('s3cr3t');
    expect(printed).not.toContain(KEY);
    expect(printed).toContain('{pk}:');
    expect(printed).toContain('db/pacekeeper');
  });
});

describe('.env.example', () => {
  const lines = readFileSync('.env.example', 'utf8').split('\n');
  const values = Object.fromEntries(
    lines.flatMap((line) => {
      const [, name, value] = /^([A-Z_]+)=(.*)$/.exec(line) ?? [];
      return name ? [[name, value ?? '']] : [];
    }),
  );

  it('names every variable and no other', () => {
    expect(Object.keys(values).sort()).toEqual([...Object.keys(environment), ...foreignNames].sort());
  });

  it('is a configuration that starts', () => {
    expect(problemsOf(values)).toEqual([]);
  });

  it('shows the defaults that the code has', () => {
    for (const [name, schema] of Object.entries(environment)) {
      const fallback = schema.safeParse(undefined);
      if (!fallback.success || (typeof fallback.data !== 'string' && typeof fallback.data !== 'number'))
        continue;
      expect(`${name}=${values[name]}`).toBe(`${name}=${fallback.data}`);
    }
  });
});
