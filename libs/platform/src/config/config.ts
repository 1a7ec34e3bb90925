import { type EncryptionKey, type Environment } from './environment.js';

/** What the processes know about their surroundings, typed. Built once, at start, by `loadConfig`. */
export interface Config {
  readonly database: { readonly url: string };
  readonly redis: { readonly url: string; readonly keyPrefix: string };
  readonly nats: { readonly url: string; readonly dlqRetentionDays: number };
  readonly http: {
    readonly port: number;
    readonly workerPort: number;
    readonly publicUrl: string;
    /** PUBLIC_URL was given: vendors can reach us there. */
    readonly isPublic: boolean;
    readonly returnUrls: readonly string[];
    readonly trustProxy: readonly string[];
  };
  readonly timeScale: number;
  readonly logLevel: Environment['LOG_LEVEL'];
  readonly auth: {
    readonly keys: { readonly secret: string } | { readonly jwksUrl: string };
    readonly issuer?: string;
    readonly audience?: string;
  };
  readonly encryptionKeys: readonly EncryptionKey[];
  readonly ingestApiKeys: readonly string[];
  readonly jobs: {
    /** Runs at a time in a worker. */
    readonly concurrency: number;
    /** A run that takes longer is given up. */
    readonly deadlineSeconds: number;
  };
  readonly strava: VendorConfig & {
    readonly webhookVerifyToken?: string;
    readonly webhookPathSecret?: string;
    readonly retentionDays?: number;
    /** Titles and descriptions that we made are written to new activities. */
    readonly writesBack: boolean;
  };
  readonly oura: VendorConfig;
  readonly whoop: VendorConfig;
  readonly sleep: { readonly historyDays: number };
  readonly broker: { readonly url?: string };
  readonly gate: { readonly capacity: number; readonly graceSeconds: number; readonly idleSeconds: number };
  readonly tracing: { readonly endpoint?: string };
}

export interface VendorConfig {
  readonly apiUrl: string;
  readonly oauthUrl: string;
  /** Absent: this vendor is not offered to athletes. */
  readonly client?: { readonly id: string; readonly secret: string };
}

export function configFrom(env: Environment): Config {
  return {
    database: { url: env.DATABASE_URL },
    redis: { url: env.REDIS_URL, keyPrefix: env.REDIS_KEY_PREFIX },
    nats: { url: env.NATS_URL, dlqRetentionDays: env.DLQ_RETENTION_DAYS },
    http: {
      port: env.PORT,
      workerPort: env.WORKER_PORT,
      publicUrl: env.PUBLIC_URL ?? `http://127.0.0.1:${env.PORT}`,
      isPublic: env.PUBLIC_URL !== undefined,
      returnUrls: env.RETURN_URLS,
      trustProxy: env.TRUST_PROXY,
    },
    timeScale: env.TIME_SCALE,
    logLevel: env.LOG_LEVEL,
    auth: {
      keys: env.JWKS_URL ? { jwksUrl: env.JWKS_URL } : { secret: env.JWT_SECRET ?? '' },
      issuer: env.JWT_ISSUER,
      audience: env.JWT_AUDIENCE,
    },
    encryptionKeys: env.ENCRYPTION_KEYS,
    ingestApiKeys: env.INGEST_API_KEYS,
    jobs: { concurrency: env.JOB_CONCURRENCY, deadlineSeconds: env.JOB_DEADLINE_SECONDS },
    strava: {
      ...vendor(env.STRAVA_API_URL, env.STRAVA_OAUTH_URL, env.STRAVA_CLIENT_ID, env.STRAVA_CLIENT_SECRET),
      webhookVerifyToken: env.STRAVA_WEBHOOK_VERIFY_TOKEN,
      webhookPathSecret: env.STRAVA_WEBHOOK_PATH_SECRET,
      retentionDays: env.STRAVA_RETENTION_DAYS,
      writesBack: env.STRAVA_WRITE_BACK,
    },
    oura: vendor(env.OURA_API_URL, env.OURA_OAUTH_URL, env.OURA_CLIENT_ID, env.OURA_CLIENT_SECRET),
    whoop: vendor(env.WHOOP_API_URL, env.WHOOP_OAUTH_URL, env.WHOOP_CLIENT_ID, env.WHOOP_CLIENT_SECRET),
    sleep: { historyDays: env.SLEEP_HISTORY_DAYS },
    broker: { url: env.BROKER_URL },
    gate: {
      capacity: env.GATE_CAPACITY,
      graceSeconds: env.GATE_GRACE_SECONDS,
      idleSeconds: env.GATE_IDLE_SECONDS,
    },
    tracing: { endpoint: env.OTEL_EXPORTER_OTLP_ENDPOINT },
  };
}

function vendor(apiUrl: string, oauthUrl: string, id?: string, secret?: string): VendorConfig {
  return { apiUrl, oauthUrl, client: id && secret ? { id, secret } : undefined };
}
