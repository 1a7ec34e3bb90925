import { type DataSourceOptions } from 'typeorm';
import { type Primary, primaryOnly } from './primary.js';
import { serversOf } from './postgres-url.js';

export interface DatabaseLimits {
  readonly applicationName: string;
  readonly poolSize: number;
  /** The server cancels a statement that runs longer. If the server is frozen, the client gives up 0.3 s after this time. */
  readonly statementTimeoutMs: number;
}

const CONNECT_TIMEOUT_MS = 2_000;
const CLIENT_GRACE_MS = 300;
// A session that idles in a transaction keeps vacuum from removing dead rows in the whole cluster.
const IDLE_IN_TRANSACTION_MS = 10_000;

/** Settings of a session. The server gets them with the connection; a pooler would refuse or ignore them. */
export function sessionSettings({ statementTimeoutMs }: Pick<DatabaseLimits, 'statementTimeoutMs'>) {
  return {
    statement_timeout: statementTimeoutMs,
    idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_MS,
  };
}

/** The client's part: how long it waits for an answer. */
export function clientSettings({ statementTimeoutMs }: Pick<DatabaseLimits, 'statementTimeoutMs'>) {
  return { query_timeout: statementTimeoutMs + CLIENT_GRACE_MS, keepAlive: true };
}

export function dataSourceOptions(
  url: string,
  limits: DatabaseLimits,
  onPoolError: (error: Error) => void,
  { primary, isPooled = false }: { readonly primary?: Primary; readonly isPooled?: boolean } = {},
) {
  const { applicationName, poolSize } = limits;
  return {
    type: 'postgres',
    // The first of several servers gives user, database and TLS; `primary` chooses the host.
    url: serversOf(url)[0] ?? url,
    applicationName,
    poolSize,
    // Only migrations change the schema.
    synchronize: false,
    installExtensions: false,
    connectTimeoutMS: CONNECT_TIMEOUT_MS,
    // Without a handler, an idle connection that breaks would end the process.
    poolErrorHandler: onPoolError,
    extra: {
      ...(isPooled ? {} : sessionSettings(limits)),
      ...clientSettings(limits),
      ...(primary ? primaryOnly(primary) : {}),
    },
  } satisfies DataSourceOptions;
}
