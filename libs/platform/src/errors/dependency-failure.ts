import { types } from 'node:util';
import { DependencyUnavailable } from './app-error.js';

// Errors of the clients that mean "the server does not answer", in contrast to "the statement is wrong". We found them by cutting, stopping
// and freezing each server. Some of these errors have no code, only a text.

const NETWORK_CODES = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ETIMEDOUT',
  'EPIPE',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
]);
// In the order of the expression: admin_shutdown, crash_shutdown, cannot_connect_now and database_dropped; no room, memory or connections
// left; the connection exceptions; query_canceled (our statement timeout); idle_in_transaction_session_timeout; read_only_sql_transaction
// (the primary has become a standby); io_error; duplicate_prepared_statement; invalid_sql_statement_name.
// The last two mean that a pooler mixed up connections. The next attempt may get the right connection.
const POSTGRES_STATES = /^(57P0[1-4]|53...|08...|57014|25P03|25006|58030|42P05|26000)$/;
const POSTGRES_TEXTS =
  /connection terminated|timeout exceeded when trying to connect|query read timeout|client has encountered a connection error|pool after calling end/i;
// The errors above that mean that this server is gone or is no longer the primary. The others, such as a slow statement, a full disk or a lack
// of connections, do not mean that.
const DOUBTFUL_STATES = /^(57P0[1-4]|08...|25006)$/;
const DOUBTFUL_TEXTS =
  /connection terminated|query read timeout|client has encountered a connection error|no server takes writes|timeout expired/i;
// The last line has the errors of a Cluster client that knows no node, or is sent from one to another, and of a client without a Sentinel.
const REDIS_TEXTS = new RegExp(
  [
    '^(LOADING|READONLY|MASTERDOWN|CLUSTERDOWN|TRYAGAIN|NOREPLICAS|UNBLOCKED|BUSY|MISCONF|OOM)\\b',
    "^connection is closed|^command timed out|stream isn't writeable",
    '^too many cluster redirections|^failed to refresh slots cache|^none of startup nodes|^cluster is |sentinels are unreachable',
  ].join('|'),
  'i',
);

/** Pass only errors of a Postgres client. A network error from another client may be about a vendor or about the caller. */
export function isPostgresAway(error: unknown): boolean {
  if (!types.isNativeError(error)) return false;
  const code = codeOf(error);
  return POSTGRES_STATES.test(code) || NETWORK_CODES.has(code) || POSTGRES_TEXTS.test(error.message);
}

/** True if other connections to the same server are likely to fail as well, so that they should be made anew. */
export function isServerInDoubt(error: unknown): boolean {
  if (!types.isNativeError(error)) return false;
  const code = codeOf(error);
  return DOUBTFUL_STATES.test(code) || NETWORK_CODES.has(code) || DOUBTFUL_TEXTS.test(error.message);
}

export function isRedisAway(error: unknown): boolean {
  if (!types.isNativeError(error)) return false;
  return error.name === 'MaxRetriesPerRequestError' || REDIS_TEXTS.test(error.message);
}

// untranslatable_character and character_not_in_repertoire: a NUL, which only a caller's text can contain.
const UNSTORABLE_STATES = new Set(['22021', '22P05']);
// Half a surrogate pair in JSON has the same state as JSON that does not parse. Only the detail, "Unicode low surrogate must …", differs.
// If `lc_messages` is not English, this detail is not recognised.
const NOT_JSON = '22P02';

/** True if a statement failed because of a text that Postgres cannot store. */
export function isUnstorable(error: unknown): boolean {
  if (!types.isNativeError(error)) return false;
  const code = codeOf(error);
  return UNSTORABLE_STATES.has(code) || (code === NOT_JSON && /surrogate/i.test(detailOf(error)));
}

function detailOf(error: Error): string {
  const { detail } = error as { detail?: unknown };
  return typeof detail === 'string' ? detail : '';
}

/**
 * Turns an error of the Redis client into DependencyUnavailable, and returns any other error unchanged. `Database` and `natsFailure` do the
 * same for Postgres and NATS.
 */
export function dependencyFailure(error: unknown): unknown {
  return isRedisAway(error) ? new DependencyUnavailable('redis', { cause: error }) : error;
}

function codeOf(error: Error): string {
  const code = (error as { code?: unknown }).code;
  return typeof code === 'string' ? code : '';
}
