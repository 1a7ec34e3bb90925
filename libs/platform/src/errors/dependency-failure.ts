import { types } from 'node:util';
import { DependencyUnavailable } from './app-error.js';

// How the three clients say "the server is away", as opposed to "your statement is wrong". Found by cutting, stopping and
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
  /^(LOADING|READONLY|MASTERDOWN|CLUSTERDOWN|BUSY|MISCONF)\b|connection is closed|command timed out|stream isn't writeable/i;
const NATS_NAMES = new Set([
  'ClosedConnectionError',
  'ConnectionError',
  'DrainingConnectionError',
  'JetStreamNotEnabled',
  'NoRespondersError',
  'RequestError',
  'TimeoutError',
]);

/** The same error, or the dependency's absence if that is what it means. */
export function dependencyFailure(error: unknown): unknown {
  if (!types.isNativeError(error)) return error;
  const cause = driverErrorOf(error);
  if (isPostgresAway(cause)) return new DependencyUnavailable('postgres', { cause });
  if (isRedisAway(cause)) return new DependencyUnavailable('redis', { cause });
  if (NATS_NAMES.has(cause.name)) return new DependencyUnavailable('nats', { cause });
  return error;
}

export function isPostgresAway(error: Error): boolean {
  const code = codeOf(error);
  if (POSTGRES_STATES.test(code)) return true;
  if (POSTGRES_TEXTS.test(error.message)) return true;
  return NETWORK_CODES.has(code) && !isRedisAway(error);
}

function isRedisAway(error: Error): boolean {
  return error.name === 'MaxRetriesPerRequestError' || REDIS_TEXTS.test(error.message);
}

/** TypeORM wraps what pg threw. */
function driverErrorOf(error: Error): Error {
  const inner = (error as { driverError?: unknown }).driverError;
  return types.isNativeError(inner) ? inner : error;
}

function codeOf(error: Error): string {
  const code = (error as { code?: unknown }).code;
  return typeof code === 'string' ? code : '';
}
