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
      isPublic: false,
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
      'JWT_AUDIENCE: is required with JWKS_URL',
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

  it('suggests also where the name that was meant is set', () => {
    expect(problemsOf({ ...complete, JWT_SECRT: 'x' })).toEqual([
      'JWT_SECRT: unknown, did you mean JWT_SECRET?',
    ]);
  });

  it('does not run faster than a real vendor', () => {
    const strava = {
      STRAVA_CLIENT_ID: '1',
      STRAVA_CLIENT_SECRET: 's',
      STRAVA_WEBHOOK_VERIFY_TOKEN: 't',
      STRAVA_WEBHOOK_PATH_SECRET: 'p'.repeat(16),
      TIME_SCALE: '900',
    };
    expect(problemsOf({ ...complete, ...strava })).toEqual([
      'TIME_SCALE: must be 1 as long as STRAVA_API_URL is the real www.strava.com',
    ]);
    expect(problemsOf({ ...complete, ...strava, STRAVA_API_URL: 'http://127.0.0.1:4010/api/v3' })).toEqual(
      [],
    );
  });

  it.each([
    ['TRUST_PROXY', 'garbage', 'must be IP addresses or ranges such as 10.0.0.0/8'],
    ['TRUST_PROXY', '10.0.0.0/33', 'must be IP addresses or ranges such as 10.0.0.0/8'],
    ['DATABASE_URL', 'postgres:foo', 'must be a URL starting with postgres:// or postgresql://'],
    ['DATABASE_URL', 'postgres://a b/c', 'must be a URL starting with postgres:// or postgresql://'],
    ['RETURN_URLS', 'javascript:alert(1)', 'must be a URL starting with http:// or https://'],
    ['DLQ_RETENTION_DAYS', '999999999', 'must be at most 3650'],
    ['PORT', '0x50', 'must be a port number'],
    ['PORT', '70000', 'must be a port number'],
    ['TIME_SCALE', 'NaN', 'must be a number'],
    ['TIME_SCALE', 'Infinity', 'must be a number'],
  ])('refuses %s=%s', (name, value, problem) => {
    expect(problemsOf({ ...complete, [name]: value })).toEqual([`${name}: ${problem}`]);
  });

  it('takes the line end off a secret that came from a file', () => {
    const { auth } = loadConfig({ ...complete, JWT_SECRET: `${'s'.repeat(32)}\n` });
    expect(auth.keys).toEqual({ secret: 's'.repeat(32) });
    expect(problemsOf({ ...complete, JWT_SECRET: `${'s'.repeat(31)}\n` })).toHaveLength(1);
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

  it('prints without secrets, whatever they look like', () => {
    const config = loadConfig({
      ...complete,
      REDIS_KEY_PREFIX: '{pk}:',
      JWT_SECRET: 'prod:s3cr3t-0123456789-0123456789-0123456789',
      INGEST_API_KEYS: 'partner:s3cr3t-0123456789',
      REDIS_URL: 'redis://cache:6379?password=s3cr3t-pw',
    });
    const printed = JSON.stringify(redactConfig(config));
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

  it('has no secret that somebody could leave as it is', () => {
    expect(problemsOf(values)).toEqual([
      'ENCRYPTION_KEYS: is required',
      'JWT_SECRET: is required (or JWKS_URL)',
    ]);
  });

  it('is a configuration that starts once it has them', () => {
    const { JWT_SECRET, ENCRYPTION_KEYS } = complete;
    expect(problemsOf({ ...values, JWT_SECRET, ENCRYPTION_KEYS })).toEqual([]);
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
