import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { environment, foreignNames, variablesOf } from '#platform';
import { loadProductConfig, VENDOR_SETTINGS } from './settings.js';

const SECRETS = {
  JWT_SECRET: 's3cr3t-0123456789-0123456789-0123456789',
  ENCRYPTION_KEYS: `1:${Buffer.alloc(32, 1).toString('base64')}`,
};
const SERVERS = {
  DATABASE_URL: 'postgres://app@db/pacekeeper',
  REDIS_URL: 'redis://cache:6379',
  NATS_URL: 'nats://bus:4222',
};
const complete = { ...SERVERS, ...SECRETS };
const variables = { ...environment, ...variablesOf(VENDOR_SETTINGS) };

function problemsOf(env: Record<string, string | undefined>): readonly string[] {
  try {
    loadProductConfig(env);
    return [];
  } catch (error) {
    return (error as { problems: readonly string[] }).problems;
  }
}

describe('loadProductConfig', () => {
  it('loadProductConfig returns the real vendors’ URLs, and no client, by default', () => {
    const { vendors } = loadProductConfig(complete);
    expect(vendors).toEqual({
      strava: {
        apiUrl: 'https://www.strava.com/api/v3',
        oauthUrl: 'https://www.strava.com/oauth',
        writesBack: false,
      },
      oura: { apiUrl: 'https://api.ouraring.com', oauthUrl: 'https://cloud.ouraring.com/oauth' },
      whoop: {
        apiUrl: 'https://api.prod.whoop.com/developer',
        oauthUrl: 'https://api.prod.whoop.com/oauth/oauth2',
      },
      polar: {
        apiUrl: 'https://www.polaraccesslink.com/v3',
        oauthUrl: 'https://flow.polar.com/oauth2',
        tokenUrl: 'https://polarremote.com/v2/oauth2/token',
      },
    });
  });

  it('loadProductConfig refuses a TIME_SCALE above 1 with the real Strava, and accepts it with a simulator', () => {
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
    expect(problemsOf({ ...complete, ...strava, STRAVA_API_URL: 'https://api-v3.strava.com' })).toEqual([
      'TIME_SCALE: must be 1 as long as STRAVA_API_URL is the real api-v3.strava.com',
    ]);
    expect(problemsOf({ ...complete, ...strava, STRAVA_API_URL: 'http://127.0.0.1:4010/api/v3' })).toEqual(
      [],
    );
  });

  it('loadProductConfig requires Strava’s webhook secrets with its client, and a client’s id with its secret', () => {
    expect(problemsOf({ ...complete, STRAVA_CLIENT_ID: '1', WHOOP_CLIENT_SECRET: 'x' })).toEqual([
      'STRAVA_CLIENT_SECRET: is required with STRAVA_CLIENT_ID',
      'STRAVA_WEBHOOK_VERIFY_TOKEN: is required with STRAVA_CLIENT_ID',
      'STRAVA_WEBHOOK_PATH_SECRET: is required with STRAVA_CLIENT_ID',
      'WHOOP_CLIENT_ID: is required with WHOOP_CLIENT_SECRET',
    ]);
  });
});

describe('.env.example', () => {
  const values = valuesIn('.env.example');

  it('.env.example names every variable and no other', () => {
    expect(Object.keys(values).sort()).toEqual([...Object.keys(variables), ...foreignNames].sort());
  });

  it('.env.example leaves JWT_SECRET and ENCRYPTION_KEYS empty', () => {
    expect(problemsOf(values)).toEqual([
      'ENCRYPTION_KEYS: is required',
      'JWT_SECRET: is required (or JWKS_URL)',
    ]);
  });

  it('.env.example is complete once both secrets are set', () => {
    expect(problemsOf({ ...values, ...SECRETS })).toEqual([]);
  });

  it('docs/operations/configuration.md, which is made from .env.example, says what each variable means', () => {
    const rows = readFileSync('docs/operations/configuration.md', 'utf8').matchAll(
      /^\| `(\w+)` \| .+? \| (.*) \|$/gm,
    );
    const meanings = new Map([...rows].map(([, name = '', meaning = '']) => [name, meaning.trim()]));
    expect([...meanings.keys()].sort()).toEqual(Object.keys(values).sort());
    expect([...meanings].filter(([, meaning]) => meaning === '')).toEqual([]);
  });

  it('.env.example shows the same defaults as the code', () => {
    for (const [name, schema] of Object.entries(variables)) {
      const fallback = schema.safeParse(undefined);
      if (!fallback.success || (typeof fallback.data !== 'string' && typeof fallback.data !== 'number'))
        continue;
      expect(`${name}=${values[name]}`).toBe(`${name}=${fallback.data}`);
    }
  });
});

describe('deploy/simulator.env', () => {
  it('deploy/simulator.env and the servers of compose make a complete configuration', () => {
    const image = { NODE_ENV: 'production' };
    expect(problemsOf({ ...valuesIn('deploy/simulator.env'), ...SERVERS, ...image })).toEqual([]);
  });
});

function valuesIn(file: string): Record<string, string> {
  const lines = readFileSync(file, 'utf8').split('\n');
  return Object.fromEntries(
    lines.flatMap((line) => {
      const [, name, value] = /^([A-Z_]+)=(.*)$/.exec(line) ?? [];
      return name ? [[name, value ?? '']] : [];
    }),
  );
}
