import { randomBytes } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { redactConfig } from './config.js';
import { ConfigInvalid, loadConfig } from './load-config.js';
import { days, secret } from './schemas.js';
import { type VendorTable } from './vendor-settings.js';
import { isWeak } from './weak-secrets.js';

const KEY = Buffer.alloc(32, 1).toString('base64');

const complete = {
  DATABASE_URL: 'postgres://app:s3cr3t-pw@db/pacekeeper',
  REDIS_URL: 'redis://:s3cr3t-pw@cache:6379',
  NATS_URL: 'nats://bus:4222',
  JWT_SECRET: 's3cr3t-0123456789-0123456789-0123456789',
  ENCRYPTION_KEYS: `1:${KEY}`,
  INGEST_API_KEYS: 's3cr3t-ingest-key-one,s3cr3t-ingest-key-two',
};

const table = {
  acme: {
    prefix: 'ACME',
    apiUrl: 'https://api.acme.example/v1',
    oauthUrl: 'https://acme.example/oauth',
    tokenUrl: 'https://tokens.acme.example',
    extras: {
      hookSecret: {
        variable: 'ACME_HOOK_SECRET',
        schema: secret(16).optional(),
        isRequiredWithClient: true,
        isMadeByUs: true,
      },
      days: { variable: 'ACME_DAYS', schema: days.default(7) },
    },
  },
  other: { prefix: 'OTHER', apiUrl: 'https://other.example', oauthUrl: 'https://other.example', extras: {} },
} as const satisfies VendorTable;

const SEVERAL =
  'names several servers: write redis+sentinel://a:26379,b:26379/mymaster or redis+cluster://a:7000,b:7001';
const UNNAMED = 'must end with the name of the master: redis+sentinel://a:26379,b:26379/mymaster';
const UNKNOWN = 'has an unknown parameter: sentinel_username and sentinel_password are known';
const HOST = 'has a wrong host or port: write host:port, separated by commas';

function problemsOf(env: Record<string, string | undefined>): readonly string[] {
  try {
    loadConfig(env, table);
  } catch (error) {
    if (error instanceof ConfigInvalid) return error.problems;
    throw error;
  }
  return [];
}

describe('loadConfig', () => {
  it('loadConfig returns a typed configuration with defaults', () => {
    const config = loadConfig(complete, table);
    expect(config.http).toEqual({
      port: 3000,
      workerPort: 3001,
      hasDocs: true,
      corsOrigins: [],
      shutdownDelaySeconds: 0,
      publicUrl: 'http://127.0.0.1:3000',
      isPublic: false,
      returnUrls: [],
      trustProxy: [],
    });
    expect(config.timeScale).toBe(1);
    expect(config.ingestApiKeys).toHaveLength(2);
  });

  it.each([
    ['NATS_REPLICAS', '2', /^NATS_REPLICAS: must be 1, 3 or 5: an even number/],
    ['NATS_REPLICAS', '7', /^NATS_REPLICAS: must be 1, 3 or 5/],
    ['NATS_CREDS', '/no/such/file', /^NATS_CREDS: the file cannot be read \(ENOENT\)$/],
    [
      'NATS_CREDS',
      '/dev/null',
      /^NATS_CREDS: must name a credentials file or a file with a user's nkey seed/,
    ],
  ])('loadConfig refuses %s=%s', (name, value, problem) => {
    expect(problemsOf({ ...complete, [name]: value })).toEqual([expect.stringMatching(problem)]);
  });

  it('loadConfig lists every problem at once and never a value', () => {
    const problems = problemsOf({
      REDIS_URL: 'http://s3cr3t-pw@cache',
      PORT: 's3cr3t-pw',
      JWT_SECRET: 's3cr3t-pw',
      TIME_SCALE: '0',
      ENCRYPTION_KEYS: '1:s3cr3t-pw',
    });
    expect(problems).toEqual([
      'DATABASE_URL: is required',
      'REDIS_URL: must be a URL starting with redis://, redis+sentinel:// or redis+cluster://, or with rediss for TLS',
      'NATS_URL: is required',
      'PORT: must be a port number',
      'TIME_SCALE: must be at least 1',
      'JWT_SECRET: must have at least 32 characters',
      'ENCRYPTION_KEYS: must be version:key pairs, each key 32 bytes in base64',
    ]);
    expect(problems.join()).not.toContain('s3cr3t-pw');
  });

  it('loadConfig requires JWT_SECRET and ENCRYPTION_KEYS, and names them if they are missing', () => {
    const { JWT_SECRET, ENCRYPTION_KEYS, ...rest } = complete;
    expect(problemsOf({ ...rest, NODE_ENV: 'production', PUBLIC_URL: 'https://pacekeeper.example' })).toEqual(
      ['ENCRYPTION_KEYS: is required', 'JWT_SECRET: is required (or JWKS_URL)'],
    );
    expect([JWT_SECRET, ENCRYPTION_KEYS].every(Boolean)).toBe(true);
  });

  it('loadConfig refuses JWT_SECRET together with JWKS_URL, and JWKS_URL without issuer and audience', () => {
    expect(problemsOf({ ...complete, JWKS_URL: 'https://id.example/jwks' })).toEqual([
      'JWT_SECRET: cannot be combined with JWKS_URL, set one of them',
    ]);
    expect(problemsOf({ ...complete, JWT_SECRET: '', JWKS_URL: 'https://id.example/jwks' })).toEqual([
      'JWT_ISSUER: is required with JWKS_URL',
      'JWT_AUDIENCE: is required with JWKS_URL',
    ]);
  });

  it('loadConfig suggests the right name for a misspelt or lower-case variable', () => {
    const { DATABASE_URL, ...rest } = complete;
    expect(problemsOf({ ...rest, DATABSE_URL: DATABASE_URL })).toEqual([
      'DATABASE_URL: is required',
      'DATABSE_URL: unknown, did you mean DATABASE_URL?',
    ]);
    expect(problemsOf({ ...complete, time_scale: '900' })).toEqual([
      'time_scale: unknown, did you mean TIME_SCALE?',
    ]);
  });

  it('loadConfig reports a misspelt variable even if the right one is set', () => {
    expect(problemsOf({ ...complete, JWT_SECRT: 'x' })).toEqual([
      'JWT_SECRT: unknown, did you mean JWT_SECRET?',
    ]);
  });

  it('loadConfig refuses a TIME_SCALE above 1 with a real vendor, and accepts it with a simulator', () => {
    const acme = {
      ACME_CLIENT_ID: '1',
      ACME_CLIENT_SECRET: 's',
      ACME_HOOK_SECRET: 'p'.repeat(16),
      TIME_SCALE: '900',
    };
    expect(problemsOf({ ...complete, ...acme })).toEqual([
      'TIME_SCALE: must be 1 as long as ACME_API_URL is the real api.acme.example',
    ]);
    expect(problemsOf({ ...complete, ...acme, ACME_API_URL: 'http://127.0.0.1:4010/api' })).toEqual([]);
  });

  it.each([
    ['TRUST_PROXY', 'garbage', 'must be IP addresses or ranges such as 10.0.0.0/8'],
    ['TRUST_PROXY', '10.0.0.0/33', 'must be IP addresses or ranges such as 10.0.0.0/8'],
    ['REDIS_URL', 'redis://a:6379,b:6379', SEVERAL],
    ['REDIS_URL', 'redis://a:6379/x', 'has a database that is not a number'],
    ['REDIS_URL', 'redis://a:port', 'has a wrong host, port or login'],
    ['REDIS_URL', 'redis+sentinel://a:26379,b:26379', UNNAMED],
    ['REDIS_URL', 'redis+sentinel://a:26379/mymaster/0/1', UNNAMED],
    ['REDIS_URL', 'redis+sentinel://a:26379/mymaster/x', 'has a database that is not a number'],
    ['REDIS_URL', 'redis+sentinel://u:%zz@a/mymaster', 'has a login or a name that is not percent-encoded'],
    ['REDIS_URL', 'redis+sentinel://a/m?password=x', UNKNOWN],
    ['REDIS_URL', 'redis+cluster://a:7000,:7001', HOST],
    ['REDIS_URL', 'redis+cluster://a:70000', HOST],
    ['REDIS_URL', 'rediss+cluster://a:7000/1', 'must not name a database: a Cluster has only database 0'],
    ['REDIS_URL', 'redis+cluster://a:7000?x=1', 'must not have parameters after a question mark'],
    ['REDIS_KEY_PREFIX', 'pk{1}:', 'must not contain { or }'],
    ['NATS_URL', 'nats://a:4222,http://b', 'must be a URL starting with nats:// or tls://'],
    ['NATS_URL', 'nats://u:p@a,nats://v:p@b', 'names two different logins'],
    ['NATS_URL', 'nats://u:%zz@a', 'has a user or password that is not percent-encoded'],
    ['HOST', 'example.org', 'must be an IP address or localhost'],
    ['BROKER_URL', 'https://[::ffff:10.0.0.1]/x', 'must lead to a public address over https'],
    ['ACME_API_URL', 'https://192.0.2.1/api', 'must lead to a public address over https'],
    ['ACME_TOKEN_URL', 'https://192.0.2.1/token', 'must lead to a public address over https'],
    ['ACME_DAYS', '0', 'must be at least 1'],
    ['DATABASE_URL', 'postgres:foo', 'must be a URL starting with postgres:// or postgresql://'],
    ['DATABASE_URL', 'postgres://a b/c', 'must be a URL starting with postgres:// or postgresql://'],
    [
      'DATABASE_URL',
      'postgres://a,b/c?target_session_attrs=any',
      'target_session_attrs must be read-write or left out',
    ],
    ['DATABASE_READ_URL', 'http://a/b', 'must be a URL starting with postgres:// or postgresql://'],
    ['RETURN_URLS', 'javascript:alert(1)', 'must be a URL starting with http:// or https://'],
    ['DLQ_RETENTION_DAYS', '999999999', 'must be at most 3650'],
    ['JOBS_RETENTION_DAYS', '0', 'must be at least 1'],
    ['WEBHOOK_EVENTS_RETENTION_DAYS', '1', 'must be at least 2'],
    ['WEBHOOK_DELIVERIES_RETENTION_DAYS', '29', 'must be at least 30'],
    ['LEDGER_RETENTION_DAYS', '1', 'must be at least 2'],
    ['AUDIT_RETENTION_DAYS', '3651', 'must be at most 3650'],
    ['PORT', '0x50', 'must be a port number'],
    ['PORT', '70000', 'must be a port number'],
    ['CORS_ORIGINS', '*', 'must be origins such as https://app.example, without a path'],
    ['CORS_ORIGINS', 'https://app.example/x', 'must be origins such as https://app.example, without a path'],
    ['SHUTDOWN_DELAY_SECONDS', '301', 'must be at most 300'],
    ['TIME_SCALE', 'NaN', 'must be a number'],
    ['TIME_SCALE', 'Infinity', 'must be a number'],
  ])('loadConfig refuses %s=%s', (name, value, problem) => {
    expect(problemsOf({ ...complete, [name]: value })).toEqual([`${name}: ${problem}`]);
  });

  it('loadConfig refuses a RECEIPTS_RETENTION_DAYS that is shorter than the longest wait of an event', () => {
    const problem = 'RECEIPTS_RETENTION_DAYS: must be at least 15 more than DLQ_RETENTION_DAYS, so at least';
    expect(problemsOf({ ...complete, RECEIPTS_RETENTION_DAYS: '21' })).toEqual([`${problem} 22`]);
    expect(problemsOf({ ...complete, RECEIPTS_RETENTION_DAYS: '22' })).toEqual([]);
    expect(problemsOf({ ...complete, DLQ_RETENTION_DAYS: '351' })).toEqual([`${problem} 366`]);
  });

  it('loadConfig removes the line end of a secret that was read from a file', () => {
    const { auth } = loadConfig({ ...complete, JWT_SECRET: `${'s'.repeat(32)}\n` }, table);
    expect(auth.keys).toEqual({ secret: 's'.repeat(32) });
    expect(problemsOf({ ...complete, JWT_SECRET: `${'s'.repeat(31)}\n` })).toHaveLength(1);
  });

  it('loadConfig accepts several NATS servers, and redactConfig hides their passwords', () => {
    const NATS_URL = 'nats://app:s3cr3t-pw@a:4222, nats://app:s3cr3t-pw@b';
    const config = loadConfig({ ...complete, NATS_URL }, table);
    expect(config.nats.urls).toHaveLength(2);
    expect(JSON.stringify(redactConfig(config))).not.toContain('s3cr3t-pw');
  });

  it.each([
    [
      'redis+sentinel://app:s3cr3t-pw@a:26379,b:26379/mymaster/0?sentinel_password=s3cr3t-pw',
      'a:26379,b:26379',
    ],
    ['rediss+cluster://app:s3cr3t-pw@a:7000,b:7001', 'a:7000,b:7001'],
    ['redis+cluster://:s3cr3t-pw@[::1]:7000', '[::1]:7000'],
  ])('loadConfig accepts %s, and redactConfig shows its hosts and no password', (REDIS_URL, hosts) => {
    const config = loadConfig({ ...complete, REDIS_URL }, table);
    const { redis } = redactConfig(config) as { redis: { url: string } };
    expect(redis.url).toContain(hosts);
    expect(redis.url).not.toContain('s3cr3t-pw');
  });

  describe('in production', () => {
    const production = {
      ...complete,
      NODE_ENV: 'production',
      PUBLIC_URL: 'https://pacekeeper.example',
      JWT_ISSUER: 'us',
      JWT_AUDIENCE: 'them',
    };
    const strong = {
      JWT_SECRET: randomBytes(32).toString('base64url'),
      ENCRYPTION_KEYS: `1:${randomBytes(32).toString('base64')}`,
      INGEST_API_KEYS: `${randomBytes(16).toString('hex')},${randomBytes(12).toString('base64')}`,
    };
    const guessed =
      'can be guessed (too few different characters, a pattern, or an example): make a random one';

    it('loadConfig refuses a shared secret without issuer and audience in production, and otherwise warns', () => {
      const { JWT_ISSUER: _i, JWT_AUDIENCE: _a, ...without } = { ...production, ...strong };
      const expected = [
        'JWT_ISSUER: is required with JWT_SECRET under NODE_ENV=production',
        'JWT_AUDIENCE: is required with JWT_SECRET under NODE_ENV=production',
      ];
      expect(problemsOf(without)).toEqual(expected);
      expect(loadConfig({ ...without, NODE_ENV: '' }, table).warnings).toEqual(expected);
      expect(loadConfig({ ...without, ALLOW_UNSAFE: '1' }, table).warnings).toEqual(expected);
    });

    it('loadConfig refuses private webhook endpoints in production, and otherwise warns', () => {
      const open = { ...production, ...strong, WEBHOOKS_ALLOW_PRIVATE: '1' };
      const expected = [
        'WEBHOOKS_ALLOW_PRIVATE: must not be 1 under NODE_ENV=production: apps could reach your own network',
      ];
      expect(problemsOf(open)).toEqual(expected);
      const tolerated = loadConfig({ ...open, ALLOW_UNSAFE: '1' }, table);
      expect(tolerated).toMatchObject({ warnings: expected, webhooks: { allowPrivate: true } });
      expect(loadConfig({ ...open, WEBHOOKS_ALLOW_PRIVATE: '0' }, table).webhooks.allowPrivate).toBe(false);
    });

    it('loadConfig refuses all unsafe settings at once in production, and ALLOW_UNSAFE=1 makes them warnings', () => {
      const trial = {
        ...production,
        ...strong,
        PUBLIC_URL: 'http://pacekeeper.example',
        TIME_SCALE: '900',
        ACME_API_URL: 'http://simulator:4010/acme',
        ACME_TOKEN_URL: 'HTTP://simulator:4010/acme/token',
        WEBHOOKS_ALLOW_PRIVATE: '1',
      };
      const expected = [
        'WEBHOOKS_ALLOW_PRIVATE: must not be 1 under NODE_ENV=production: apps could reach your own network',
        "PUBLIC_URL: must be https under NODE_ENV=production: sign-ins and vendors' webhooks use it",
        'TIME_SCALE: must be 1 under NODE_ENV=production: it is for simulated vendors',
        'ACME_API_URL: must be https under NODE_ENV=production: http is for simulated vendors',
        'ACME_TOKEN_URL: must be https under NODE_ENV=production: http is for simulated vendors',
      ];
      expect(problemsOf(trial)).toEqual(expected);
      for (const ALLOW_UNSAFE of ['1', 'on'])
        expect(loadConfig({ ...trial, ALLOW_UNSAFE }, table).warnings).toEqual(expected);
      for (const ALLOW_UNSAFE of ['0', 'off'])
        expect(problemsOf({ ...trial, ALLOW_UNSAFE })).toEqual(expected);
      expect(problemsOf({ ...trial, ALLOW_UNSAFE: 'yes' })).toContain('ALLOW_UNSAFE: must be 1 or 0');
      const { PUBLIC_URL: _, ...without } = { ...production, ...strong };
      expect(problemsOf(without)).toEqual([
        "PUBLIC_URL: is required under NODE_ENV=production: sign-ins and vendors' webhooks use it",
      ]);
    });

    it('loadConfig does not warn of http and a fast clock outside of production', () => {
      const { NODE_ENV: _, ...trial } = {
        ...production,
        ...strong,
        PUBLIC_URL: 'http://pacekeeper.example',
        TIME_SCALE: '900',
        ACME_API_URL: 'http://simulator:4010/acme',
      };
      expect(loadConfig(trial, table).warnings).toEqual([]);
    });

    it.each([
      ['one character', 'a'.repeat(40)],
      ['a repeated word', 'unused'.repeat(6)],
      ['repeated digits', 's3cr3t-0123456789-0123456789-0123456789'],
      ['the alphabet', 'abcdefghijklmnopqrstuvwxyz0123456789'],
      ['the secret of these tests', 'a-secret-for-tests-of-at-least-32-characters'],
      ['an example', 'Please-Change-Me-8d1c5f2ab9e04776'],
    ])('loadConfig refuses %s as a secret in production, and otherwise warns', (_, secret) => {
      const weak = { ...production, ...strong, JWT_SECRET: secret };
      expect(problemsOf(weak)).toEqual([`JWT_SECRET: ${guessed}`]);
      expect(loadConfig({ ...weak, NODE_ENV: 'test' }, table).warnings).toEqual([`JWT_SECRET: ${guessed}`]);
      expect(problemsOf({ ...production, ...strong, ACME_HOOK_SECRET: secret })).toEqual([
        `ACME_HOOK_SECRET: ${guessed}`,
      ]);
      expect(problemsOf({ ...production, ...strong, INGEST_API_KEYS: secret })).toEqual([
        `INGEST_API_KEYS: ${guessed}`,
      ]);
    });

    it.each([
      ['zeros', Buffer.alloc(32)],
      ['sevens', Buffer.alloc(32, 7)],
      ['consecutive bytes', Buffer.from([...Array(32).keys()])],
    ])('loadConfig refuses an encryption key of %s in production', (_, key) => {
      const ENCRYPTION_KEYS = `2:${randomBytes(32).toString('base64')},1:${key.toString('base64')}`;
      expect(problemsOf({ ...production, ...strong, ENCRYPTION_KEYS })).toEqual([
        `ENCRYPTION_KEYS: ${guessed}`,
      ]);
    });

    it('isWeak returns false for random secrets in hex, base64 and base64url', () => {
      for (let draw = 0; draw < 500; draw += 1)
        for (const alphabet of ['hex', 'base64', 'base64url'] as const)
          for (const bytes of [16, 24, 32, 64]) {
            const secret = randomBytes(bytes).toString(alphabet);
            expect([secret, isWeak(secret)]).toEqual([secret, false]);
          }
    });
  });

  it('loadConfig ignores variables of other programs', () => {
    const others = {
      PATH: '/bin',
      HOME: '/',
      POSTGRES_HOST_PORT: '5432',
      SIMULATOR_PORT: '4010',
      npm_lifecycle_event: 'start',
    };
    expect(problemsOf({ ...complete, ...others })).toEqual([]);
  });

  it('loadConfig requires all variables of a vendor if one is set', () => {
    expect(problemsOf({ ...complete, ACME_CLIENT_ID: '1', OTHER_CLIENT_SECRET: 'x' })).toEqual([
      'ACME_CLIENT_SECRET: is required with ACME_CLIENT_ID',
      'ACME_HOOK_SECRET: is required with ACME_CLIENT_ID',
      'OTHER_CLIENT_ID: is required with OTHER_CLIENT_SECRET',
    ]);
  });

  it('loadConfig suggests the right name for a misspelt variable of a vendor', () => {
    expect(problemsOf({ ...complete, ACME_CLIENT_IDD: '1' })).toEqual([
      'ACME_CLIENT_IDD: unknown, did you mean ACME_CLIENT_ID?',
    ]);
  });

  it('loadConfig returns each vendor’s URLs, client and own variables', () => {
    const { vendors } = loadConfig(
      {
        ...complete,
        ACME_API_URL: 'http://127.0.0.1/api/',
        ACME_CLIENT_ID: '1',
        ACME_CLIENT_SECRET: 's',
        ACME_HOOK_SECRET: 'p'.repeat(16),
      },
      table,
    );
    expect(vendors.acme).toEqual({
      apiUrl: 'http://127.0.0.1/api',
      oauthUrl: 'https://acme.example/oauth',
      tokenUrl: 'https://tokens.acme.example',
      client: { id: '1', secret: 's' },
      hookSecret: 'p'.repeat(16),
      days: 7,
    });
    expect(vendors.other.client).toBeUndefined();
  });

  it('loadConfig sorts encryption keys newest first, and refuses a version that occurs twice', () => {
    const { encryptionKeys } = loadConfig(
      { ...complete, ENCRYPTION_KEYS: `1:${KEY},3:${KEY},2:${KEY}` },
      table,
    );
    expect(encryptionKeys.map(({ version }) => version)).toEqual([3, 2, 1]);
    expect(problemsOf({ ...complete, ENCRYPTION_KEYS: `1:${KEY},1:${KEY}` })).toEqual([
      'ENCRYPTION_KEYS: names a key version twice',
    ]);
  });

  it('redactConfig hides secrets that parse as URLs, passwords in the query of a URL, and not the prefix of keys', () => {
    const config = loadConfig(
      {
        ...complete,
        REDIS_KEY_PREFIX: 'prod:pk:',
        JWT_SECRET: 'prod:s3cr3t-0123456789-0123456789-0123456789',
        INGEST_API_KEYS: 'partner:s3cr3t-0123456789',
        REDIS_URL: 'redis://cache:6379?password=s3cr3t-pw',
      },
      table,
    );
    const printed = JSON.stringify(redactConfig(config));
    expect(printed).not.toContain('s3cr3t');
    expect(printed).not.toContain(KEY);
    expect(printed).toContain('"keyPrefix":"prod:pk:"');
    expect(printed).toContain('db/pacekeeper');
  });
});
