import { isIP } from 'node:net';
import { z } from 'zod';

// Every variable the processes read, in one place: name → how its text becomes a value. What is not listed here is not
// read anywhere. `.env.example` is tested against this table, and a name that is nearly one of these is a problem.

const url = (...protocols: string[]) =>
  z.string().refine((text) => isUrlOf(text, protocols), {
    message: `must be a URL starting with ${protocols.map((p) => `${p}//`).join(' or ')}`,
  });
const http = url('http:', 'https:').transform((text) => text.replace(/\/+$/, ''));
const port = z
  .string()
  .regex(/^\d{1,5}$/, 'must be a port number')
  .transform(Number)
  .refine((number) => number <= 65_535, 'must be a port number');
const wholeNumber = (min: number) =>
  z.coerce
    .number({ message: 'must be a whole number' })
    .int('must be a whole number')
    .min(min, `must be at least ${min}`);
const onOrOff = z.enum(['on', 'off'], { message: 'must be on or off' }).transform((text) => text === 'on');
const days = wholeNumber(1).refine((number) => number <= 3_650, 'must be at most 3650');
const list = z.string().transform((text) =>
  text
    .split(',')
    .map((item) => item.trim())
    .filter(Boolean),
);
const addresses = z.string().refine(isAddressOrRange, 'must be IP addresses or ranges such as 10.0.0.0/8');
const secret = (minLength: number) => z.string().min(minLength, `must have at least ${minLength} characters`);

export const environment = {
  DATABASE_URL: url('postgres:', 'postgresql:'),
  REDIS_URL: url('redis:', 'rediss:'),
  // Put before every key. A value such as `{pacekeeper}:` keeps all keys in one Redis Cluster slot.
  REDIS_KEY_PREFIX: z.string().default(''),
  NATS_URL: url('nats:', 'tls:'),

  PORT: port.default(3_000),
  WORKER_PORT: port.default(3_001),
  PUBLIC_URL: http.optional(),
  RETURN_URLS: list.pipe(z.array(http)).default([]),
  TRUST_PROXY: list.pipe(z.array(addresses)).default([]),
  TIME_SCALE: z.coerce
    .number({ message: 'must be a number' })
    .min(1, 'must be at least 1')
    .max(10_000)
    .default(1),
  LOG_LEVEL: z.enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']).default('info'),

  JWT_SECRET: secret(32).optional(),
  JWKS_URL: http.optional(),
  JWT_ISSUER: z.string().min(1).optional(),
  JWT_AUDIENCE: z.string().min(1).optional(),
  ENCRYPTION_KEYS: z.string().transform(parseEncryptionKeys),
  INGEST_API_KEYS: list.pipe(z.array(secret(16))).default([]),
  DLQ_RETENTION_DAYS: days.default(7),

  JOB_CONCURRENCY: wholeNumber(1)
    .refine((number) => number <= 256, 'must be at most 256')
    .default(16),
  JOB_DEADLINE_SECONDS: wholeNumber(1)
    .refine((number) => number <= 3_600, 'must be at most 3600')
    .default(120),

  STRAVA_API_URL: http.default('https://www.strava.com/api/v3'),
  STRAVA_OAUTH_URL: http.default('https://www.strava.com/oauth'),
  STRAVA_CLIENT_ID: z.string().min(1).optional(),
  STRAVA_CLIENT_SECRET: z.string().min(1).optional(),
  STRAVA_WEBHOOK_VERIFY_TOKEN: z.string().min(1).optional(),
  STRAVA_WEBHOOK_PATH_SECRET: secret(16).optional(),
  STRAVA_RETENTION_DAYS: days.optional(),
  STRAVA_WRITE_BACK: onOrOff.default(false),

  OURA_API_URL: http.default('https://api.ouraring.com'),
  OURA_OAUTH_URL: http.default('https://cloud.ouraring.com/oauth'),
  OURA_CLIENT_ID: z.string().min(1).optional(),
  OURA_CLIENT_SECRET: z.string().min(1).optional(),

  WHOOP_API_URL: http.default('https://api.prod.whoop.com/developer'),
  WHOOP_OAUTH_URL: http.default('https://api.prod.whoop.com/oauth/oauth2'),
  WHOOP_CLIENT_ID: z.string().min(1).optional(),
  WHOOP_CLIENT_SECRET: z.string().min(1).optional(),

  SLEEP_HISTORY_DAYS: days.default(90),

  BROKER_URL: http.optional(),
  GATE_CAPACITY: wholeNumber(1).default(100),
  GATE_GRACE_SECONDS: wholeNumber(0).default(30),
  GATE_IDLE_SECONDS: wholeNumber(1).default(60),

  OTEL_EXPORTER_OTLP_ENDPOINT: http.optional(),
};

// Read by the simulator, which parses its own; known here so that nobody is told it is misspelt.
export const foreignNames = ['SIMULATOR_PORT', 'SIMULATOR_STATE'];

export const environmentSchema = z.object(environment);
export type Environment = z.output<typeof environmentSchema>;

export interface EncryptionKey {
  readonly version: number;
  readonly key: Buffer;
}

/** `2:<base64>,1:<base64>`: the highest version encrypts, every version still decrypts. */
function parseEncryptionKeys(text: string, context: z.RefinementCtx): readonly EncryptionKey[] {
  const keys = text.split(',').map((part) => {
    const [, version, base64] = /^(\d+):(.+)$/.exec(part.trim()) ?? [];
    return { version: Number(version), key: Buffer.from(base64 ?? '', 'base64') };
  });
  const versions = new Set(keys.map((key) => key.version));
  if (keys.some(({ version, key }) => !Number.isInteger(version) || version < 1 || key.length !== 32)) {
    context.addIssue({ code: 'custom', message: 'must be version:key pairs, each key 32 bytes in base64' });
    return z.NEVER;
  }
  if (versions.size !== keys.length) {
    context.addIssue({ code: 'custom', message: 'names a key version twice' });
    return z.NEVER;
  }
  return keys.sort((a, b) => b.version - a.version);
}

function isUrlOf(text: string, protocols: readonly string[]): boolean {
  if (!URL.canParse(text) || /\s/.test(text)) return false;
  const { protocol, host } = new URL(text);
  return protocols.includes(protocol) && host !== '';
}

function isAddressOrRange(text: string): boolean {
  const [address = '', bits, ...more] = text.split('/');
  const longest = { 0: -1, 4: 32, 6: 128 }[isIP(address)] ?? -1;
  return (
    longest > 0 &&
    more.length === 0 &&
    (bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= longest))
  );
}
