import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { z } from 'zod';
import { parseRedisUrl, RedisUrlInvalid } from '../redis/redis-url.js';
import {
  addresses,
  allowUnsafe,
  days,
  daysFrom,
  http,
  list,
  oneOrZero,
  onOrOff,
  origin,
  port,
  secret,
  url,
  wholeNumber,
} from './schemas.js';
import { postgresUrl } from '../database/postgres-url.js';

// Every variable that the processes read, with the schema that parses its text; each vendor adds its own (`vendor-settings.ts`). No other
// variable is read anywhere. A test compares `.env.example` with these tables. `loadConfig` reports an unknown variable whose name is
// similar to one of them.

export const environment = {
  // One server, or several of which one takes writes: postgres://a,b/db?target_session_attrs=read-write
  DATABASE_URL: postgresUrl,
  // Postgres itself, if DATABASE_URL leads to a pooler: for LISTEN, migrations and locks of a session.
  DATABASE_DIRECT_URL: postgresUrl.optional(),
  // A streaming standby, for bodies of streams and lists.
  DATABASE_READ_URL: url('postgres:', 'postgresql:').optional(),
  REDIS_URL: z.string().superRefine(beRedisUrl),
  // Prefix of every key, for a Redis that other programs use as well. A brace would begin a hash tag, and change the slots of our keys.
  REDIS_KEY_PREFIX: z
    .string()
    .regex(/^[^{}]*$/, 'must not contain { or }')
    .default(''),
  NATS_URL: list.pipe(z.array(url('nats:', 'tls:'))).superRefine(haveOneLogin),
  NATS_CREDS: z.string().superRefine(isCredentialsFile).optional(),
  NATS_REPLICAS: z
    .enum(['1', '3', '5'], {
      message: 'must be 1, 3 or 5: an even number survives no more failures than the odd number below it',
    })
    .transform(Number)
    .default(1),
  START_WAIT_SECONDS: wholeNumber(0)
    .refine((number) => number <= 3_600, 'must be at most 3600')
    .default(60),

  NODE_ENV: z.string().optional(),
  ALLOW_UNSAFE: allowUnsafe.default(false),
  HOST: z
    .string()
    .refine((text) => isIP(text) > 0 || text === 'localhost', 'must be an IP address or localhost')
    .optional(),
  PORT: port.default(3_000),
  WORKER_PORT: port.default(3_001),
  // If METRICS_PORT is set, the api and the worker serve /metrics on this port. Otherwise each of them serves /metrics on its own port.
  METRICS_PORT: port.optional(),
  DOCS: onOrOff.default(true),
  CORS_ORIGINS: list.pipe(z.array(origin)).default([]),
  SHUTDOWN_DELAY_SECONDS: wholeNumber(0)
    .refine((seconds) => seconds <= 300, 'must be at most 300')
    .default(0),
  PUBLIC_URL: http.optional(),
  APP_NAME: z.string().min(1).max(60).default('Pacekeeper'),
  APP_URL: http.optional(),
  RETURN_URLS: list.pipe(z.array(http)).default([]),
  TRUST_PROXY: list.pipe(z.array(addresses)).default([]),
  TIME_SCALE: z.coerce
    .number({ message: 'must be a number' })
    .min(1, 'must be at least 1')
    .max(10_000)
    .default(1),
  LOG_LEVEL: z.enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']).default('info'),
  // One of this many reads that succeed in time has a line in the log, chosen at random. 1: every read.
  LOG_READS_EVERY: wholeNumber(1).default(100),

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

  CHANGES_RETENTION_DAYS: days.default(30),
  JOBS_RETENTION_DAYS: days.default(30),
  IMPORTS_RETENTION_DAYS: days.default(90),
  // A reconciliation reads the events of the last day, and a vendor may repeat an event for a day.
  WEBHOOK_EVENTS_RETENTION_DAYS: daysFrom(2).default(7),
  // Apps may rely on 30 days.
  WEBHOOK_DELIVERIES_RETENTION_DAYS: daysFrom(30).default(30),
  RECEIPTS_RETENTION_DAYS: days.default(365),
  AUDIT_RETENTION_DAYS: days.default(365),
  // Counters are rebuilt from the calls of the vendors' longest window, a day. The operators' pages show the calls of the last day, too.
  LEDGER_RETENTION_DAYS: daysFrom(2).default(7),

  SLEEP_HISTORY_DAYS: days.default(90),
  // Absent: nights are kept as long as their connection or athlete.
  SLEEP_RETENTION_DAYS: days.optional(),

  WEBHOOKS_ALLOW_PRIVATE: oneOrZero.default(false),

  BROKER_URL: http.optional(),
  GATE_CAPACITY: wholeNumber(1).default(100),
  // Sessions per client address; a quarter of GATE_CAPACITY by default.
  GATE_PER_ADDRESS: wholeNumber(1).optional(),
  GATE_GRACE_SECONDS: wholeNumber(0).default(30),
  GATE_IDLE_SECONDS: wholeNumber(1).default(60),

  OTEL_EXPORTER_OTLP_ENDPOINT: http.optional(),
};

// Variables of the simulator and of Node, which this schema does not parse. This list keeps `loadConfig` from reporting them as misspelt.
export const foreignNames = ['SIMULATOR_HOST', 'SIMULATOR_PORT', 'SIMULATOR_STATE', 'NODE_EXTRA_CA_CERTS'];

export type Environment = z.output<z.ZodObject<typeof environment>>;

/** The seed of a user's nkey. */
export const NKEY_SEED = /\bSU[A-Z2-7]{56}\b/;

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

function beRedisUrl(text: string, context: z.RefinementCtx): void {
  try {
    parseRedisUrl(text);
  } catch (error) {
    if (!(error instanceof RedisUrlInvalid)) throw error;
    context.addIssue({ code: 'custom', message: error.message });
  }
}

/** The client uses one login for all servers of the list, so all URLs must have the same user or token. */
function haveOneLogin(urls: readonly string[], context: z.RefinementCtx): void {
  const fail = (message: string) => context.addIssue({ code: 'custom', message });
  if (urls.length === 0) fail('must name a server');
  const parsed = urls.filter((text) => URL.canParse(text)).map((text) => new URL(text));
  const logins = parsed.filter(({ username, password }) => username || password);
  if (new Set(logins.map(({ username, password }) => `${username}:${password}`)).size > 1)
    fail('names two different logins');
  if (logins.some(({ username, password }) => !isDecodable(username) || !isDecodable(password)))
    fail('has a user or password that is not percent-encoded');
}

/** NKEY_SEED finds the seed both in a credentials file, below its JWT, and in a file with nothing else. */
function isCredentialsFile(file: string, context: z.RefinementCtx): void {
  const fail = (message: string) => context.addIssue({ code: 'custom', message });
  try {
    if (!NKEY_SEED.test(readFileSync(file, 'utf8')))
      fail("must name a credentials file or a file with a user's nkey seed (SU…)");
  } catch (error) {
    fail(`the file cannot be read (${(error as NodeJS.ErrnoException).code})`);
  }
}

function isDecodable(text: string): boolean {
  try {
    return decodeURIComponent(text) !== undefined;
  } catch {
    return false;
  }
}
