import { type EncryptionKey, type Environment } from './environment.js';
import { type VendorConfig } from './vendor-settings.js';

/**
 * The configuration of all processes, typed. `loadConfig` builds it once at the start. This lib does not know the vendors: the registry
 * (`libs/vendors`) names them in `ProductConfig`.
 */
export interface Config<Vendors = Readonly<Record<string, VendorConfig>>> {
  readonly database: {
    readonly url: string;
    /** Set if `url` leads to a pooler: the same database, without the pooler. */
    readonly directUrl?: string;
    /** A streaming standby. */
    readonly readUrl?: string;
  };
  readonly redis: { readonly url: string; readonly keyPrefix: string };
  readonly nats: {
    /** One server, or several of one cluster. */
    readonly urls: readonly string[];
    /** A file with a user's JWT and seed, or with the seed of an nkey only. */
    readonly credsFile?: string;
    /** Copies of each message, each on a server of its own. */
    readonly replicas: number;
    readonly dlqRetentionDays: number;
  };
  /** Longest wait at the start for a server that does not answer. */
  readonly startWaitMs: number;
  readonly http: {
    /** The address to listen on; by default all addresses of the machine. */
    readonly host?: string;
    readonly port: number;
    readonly workerPort: number;
    /** Absent: `/metrics` is served on the port of the other routes. */
    readonly metricsPort?: number;
    readonly hasDocs: boolean;
    /** Pages of these origins may call `/v1`. */
    readonly corsOrigins: readonly string[];
    readonly shutdownDelaySeconds: number;
    readonly publicUrl: string;
    /** True if PUBLIC_URL is set. Vendors can then reach us at this address. */
    readonly isPublic: boolean;
    readonly returnUrls: readonly string[];
    readonly trustProxy: readonly string[];
  };
  /** The app's name and address on the pages that people see while connecting an account. */
  readonly app: { readonly name: string; readonly url?: string };
  readonly timeScale: number;
  readonly logLevel: Environment['LOG_LEVEL'];
  /** One of this many reads that succeed in time is logged. */
  readonly logReadsEvery: number;
  readonly auth: {
    readonly keys: { readonly secret: string } | { readonly jwksUrl: string };
    readonly issuer?: string;
    readonly audience?: string;
  };
  readonly encryptionKeys: readonly EncryptionKey[];
  readonly ingestApiKeys: readonly string[];
  readonly jobs: {
    /** Runs that a worker executes at the same time. */
    readonly concurrency: number;
    /** A run that takes longer is aborted. */
    readonly deadlineSeconds: number;
  };
  readonly vendors: Vendors;
  readonly changes: { readonly retentionDays: number };
  /** Days after which a purge deletes past rows. `TIME_SCALE` divides them. */
  readonly retentionDays: {
    readonly jobs: number;
    readonly imports: number;
    readonly webhookEvents: number;
    readonly webhookDeliveries: number;
    readonly receipts: number;
    /** Operators' actions, and former settings of the runtime. */
    readonly audit: number;
    readonly ledger: number;
  };
  readonly sleep: {
    readonly historyDays: number;
    /** Nights are deleted this many days after their date. Absent: they are kept. */
    readonly retentionDays?: number;
  };
  /** True: endpoints of apps may have private addresses and plain http. For development. */
  readonly webhooks: { readonly allowPrivate: boolean };
  readonly broker: { readonly url?: string };
  readonly gate: {
    readonly capacity: number;
    readonly perAddress: number;
    readonly graceSeconds: number;
    readonly idleSeconds: number;
  };
  readonly tracing: { readonly endpoint?: string };
  /** Problems that are accepted outside production or with ALLOW_UNSAFE; each text names its variable. */
  readonly warnings: readonly string[];
}

export function configFrom<Vendors>(
  env: Environment,
  vendors: Vendors,
  warnings: readonly string[],
): Config<Vendors> {
  return {
    database: {
      url: env.DATABASE_URL,
      directUrl: env.DATABASE_DIRECT_URL,
      readUrl: env.DATABASE_READ_URL,
    },
    redis: { url: env.REDIS_URL, keyPrefix: env.REDIS_KEY_PREFIX },
    nats: {
      urls: env.NATS_URL,
      credsFile: env.NATS_CREDS,
      replicas: env.NATS_REPLICAS,
      dlqRetentionDays: env.DLQ_RETENTION_DAYS,
    },
    startWaitMs: env.START_WAIT_SECONDS * 1_000,
    http: {
      host: env.HOST,
      port: env.PORT,
      workerPort: env.WORKER_PORT,
      metricsPort: env.METRICS_PORT,
      hasDocs: env.DOCS,
      corsOrigins: env.CORS_ORIGINS,
      shutdownDelaySeconds: env.SHUTDOWN_DELAY_SECONDS,
      publicUrl: env.PUBLIC_URL ?? `http://127.0.0.1:${env.PORT}`,
      isPublic: env.PUBLIC_URL !== undefined,
      returnUrls: env.RETURN_URLS,
      trustProxy: env.TRUST_PROXY,
    },
    app: { name: env.APP_NAME, url: env.APP_URL },
    timeScale: env.TIME_SCALE,
    logLevel: env.LOG_LEVEL,
    logReadsEvery: env.LOG_READS_EVERY,
    auth: {
      keys: env.JWKS_URL ? { jwksUrl: env.JWKS_URL } : { secret: env.JWT_SECRET ?? '' },
      issuer: env.JWT_ISSUER,
      audience: env.JWT_AUDIENCE,
    },
    encryptionKeys: env.ENCRYPTION_KEYS,
    ingestApiKeys: env.INGEST_API_KEYS,
    jobs: { concurrency: env.JOB_CONCURRENCY, deadlineSeconds: env.JOB_DEADLINE_SECONDS },
    vendors,
    changes: { retentionDays: env.CHANGES_RETENTION_DAYS },
    retentionDays: {
      jobs: env.JOBS_RETENTION_DAYS,
      imports: env.IMPORTS_RETENTION_DAYS,
      webhookEvents: env.WEBHOOK_EVENTS_RETENTION_DAYS,
      webhookDeliveries: env.WEBHOOK_DELIVERIES_RETENTION_DAYS,
      receipts: env.RECEIPTS_RETENTION_DAYS,
      audit: env.AUDIT_RETENTION_DAYS,
      ledger: env.LEDGER_RETENTION_DAYS,
    },
    sleep: { historyDays: env.SLEEP_HISTORY_DAYS, retentionDays: env.SLEEP_RETENTION_DAYS },
    webhooks: { allowPrivate: env.WEBHOOKS_ALLOW_PRIVATE },
    broker: { url: env.BROKER_URL },
    gate: {
      capacity: env.GATE_CAPACITY,
      perAddress: env.GATE_PER_ADDRESS ?? Math.ceil(env.GATE_CAPACITY / 4),
      graceSeconds: env.GATE_GRACE_SECONDS,
      idleSeconds: env.GATE_IDLE_SECONDS,
    },
    tracing: { endpoint: env.OTEL_EXPORTER_OTLP_ENDPOINT },
    warnings,
  };
}

const SECRET_NAME = /secret|key|token|password/i;
const HIDDEN = '[redacted]';

/** Returns a copy for the log. It has no secrets, and its URLs have no user, password or query. */
export function redactConfig(config: Config<unknown>): unknown {
  return redact('', config);
}

function redact(name: string, value: unknown): unknown {
  if (value instanceof Uint8Array) return HIDDEN;
  if (Array.isArray(value)) return value.map((item) => redact(name, item));
  if (typeof value === 'object' && value !== null)
    return Object.fromEntries(Object.entries(value).map(([key, child]) => [key, redact(key, child)]));
  if (typeof value !== 'string') return value;
  // The prefix is no secret, and one such as `prod:` would parse as a URL.
  if (name === 'keyPrefix') return value;
  // The name is checked before the URL, because a secret such as `prod:abc` parses as a URL too.
  if (SECRET_NAME.test(name)) return HIDDEN;
  return URL.canParse(value) ? destination(new URL(value)) : withoutLogin(value);
}

/** Hides the login and the query of a URL with several hosts, which `URL` cannot parse. Other texts stay as they are. */
function withoutLogin(text: string): string {
  if (!/^[a-z+]+:\/\//i.test(text)) return text;
  return text.replace(/\/\/[^/]*@/, `//${HIDDEN}@`).replace(/\?.*$/s, `?${HIDDEN}`);
}

/** A password may be in the user part or in the query. */
function destination({ protocol, host, pathname, username, search }: URL): string {
  return `${protocol}//${username ? `${HIDDEN}@` : ''}${host}${pathname}${search ? `?${HIDDEN}` : ''}`;
}
