import { types } from 'node:util';
import { DependencyUnavailable } from '../errors/app-error.js';

// The server is not there, or does not answer. Anything else it says is about the request and will be said again.
const AWAY = new Set([
  'ClosedConnectionError',
  'ConnectionError',
  'DrainingConnectionError',
  'JetStreamNotEnabled',
  'NoRespondersError',
  'RequestError',
  'TimeoutError',
]);

/** The same error, or the absence of NATS, which its client says by name. */
export function natsFailure(error: unknown): unknown {
  const isAway = types.isNativeError(error) && AWAY.has(error.name);
  return isAway ? new DependencyUnavailable('nats', { cause: error }) : error;
}
