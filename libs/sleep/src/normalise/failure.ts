import { types } from 'node:util';
import { JetStreamError } from '@nats-io/jetstream';
import { DependencyUnavailable } from '#platform';

// Connection exceptions, wrong moment (read-only, transaction state), deadlocks, no resources, not now, shut down, I/O.
const PASSING_STATES = /^(08|25|40|53|55|57|58)/;
// The source's words for a server that is away.
const PASSING_TEXTS = /ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENOTFOUND|EPIPE|timeout|connection/i;

/** Whether the same message may succeed later. What is wrong with the message itself stays wrong. */
export function isRetryable(error: unknown): boolean {
  if (error instanceof DependencyUnavailable || error instanceof JetStreamError) return true;
  if (!types.isNativeError(error)) return false;
  const { code } = error as { code?: unknown };
  if (typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code)) return PASSING_STATES.test(code);
  return PASSING_TEXTS.test(error.message);
}
