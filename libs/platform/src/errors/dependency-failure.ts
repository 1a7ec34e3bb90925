import { types } from 'node:util';
import { DependencyUnavailable } from './app-error.js';

// How the clients say "the server is away", as opposed to "your statement is wrong". Found by cutting, stopping and
// freezing each server; the texts are the only thing some of these errors carry.

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
// admin_shutdown, crash_shutdown, cannot_connect_now, too_many_connections, the connection exceptions, query_canceled
// (our statement time-out) and idle_in_transaction_session_timeout.
const POSTGRES_STATES = /^(57P0[1-3]|53300|08...|57014|25P03)$/;
const POSTGRES_TEXTS =
  /connection terminated|timeout exceeded when trying to connect|query read timeout|client has encountered a connection error|pool after calling end/i;
const REDIS_TEXTS =
  /^(LOADING|READONLY|MASTERDOWN|CLUSTERDOWN|BUSY|MISCONF|OOM)\b|^connection is closed|^command timed out|stream isn't writeable/i;

/** Of an error that a Postgres client threw. A network error elsewhere may be anybody's: a vendor's, or the caller's own. */
export function isPostgresAway(error: unknown): boolean {
  if (!types.isNativeError(error)) return false;
  const code = codeOf(error);
  return POSTGRES_STATES.test(code) || NETWORK_CODES.has(code) || POSTGRES_TEXTS.test(error.message);
}

export function isRedisAway(error: unknown): boolean {
  if (!types.isNativeError(error)) return false;
  return error.name === 'MaxRetriesPerRequestError' || REDIS_TEXTS.test(error.message);
}

/** The same error, or the absence of Redis where it can mean nothing else; Postgres and NATS say so at their source. */
export function dependencyFailure(error: unknown): unknown {
  return isRedisAway(error) ? new DependencyUnavailable('redis', { cause: error }) : error;
}

function codeOf(error: Error): string {
  const code = (error as { code?: unknown }).code;
  return typeof code === 'string' ? code : '';
}
