import { type DataSourceOptions } from 'typeorm';

export interface DatabaseLimits {
  readonly applicationName: string;
  readonly poolSize: number;
  /** A statement that runs longer is cancelled: by the server, and just after by us, should the server be frozen. */
  readonly statementTimeoutMs: number;
}

const CONNECT_TIMEOUT_MS = 2_000;
const CLIENT_GRACE_MS = 300;
// A session left open inside a transaction holds back vacuum for the whole cluster.
const IDLE_IN_TRANSACTION_MS = 10_000;

export function dataSourceOptions(
  url: string,
  { applicationName, poolSize, statementTimeoutMs }: DatabaseLimits,
  onPoolError: (error: Error) => void,
) {
  return {
    type: 'postgres',
    url,
    applicationName,
    poolSize,
    // The schema is made by migrations alone.
    synchronize: false,
    installExtensions: false,
    connectTimeoutMS: CONNECT_TIMEOUT_MS,
    // An idle connection that breaks must not end the process.
    poolErrorHandler: onPoolError,
    extra: {
      statement_timeout: statementTimeoutMs,
      query_timeout: statementTimeoutMs + CLIENT_GRACE_MS,
      idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_MS,
      keepAlive: true,
    },
  } satisfies DataSourceOptions;
}
