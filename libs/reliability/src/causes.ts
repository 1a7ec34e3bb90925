import { AppError, DependencyUnavailable, Forbidden, isRedisAway, NotFound } from '#platform';
import { DeadlineExceeded, Superseded } from './coalesce/flight.js';
import { CallTimedOut } from './outbound.errors.js';

/** The contract's list of causes for which a request fails. */
export const CAUSES = [
  'capacity_busy',
  'policy_blocked',
  'superseded',
  'not_found',
  'dependency_timeout',
  'broker_error',
  'redis_unavailable',
] as const;
export type Cause = (typeof CAUSES)[number];

interface CauseAnswer {
  /** `empty`: nothing to play, with the reason. `clip`: a clip that says what to do, in place of the workout. */
  readonly kind: 'empty' | 'clip';
  /** Text for the athlete: the reason and what to do. */
  readonly message: string;
  /** Null: another request would get the same answer. */
  readonly retryAfterSeconds: number | null;
}

/** The answer to each cause. An answer depends on neither the time nor the client. */
export const CAUSE_ANSWERS: Readonly<Record<Cause, CauseAnswer>> = frozen({
  capacity_busy: {
    kind: 'empty',
    message: 'All places are taken right now. Please try again in half a minute.',
    retryAfterSeconds: 30,
  },
  policy_blocked: {
    kind: 'empty',
    message: 'This workout is not available to you. Please check your add-on settings or choose another one.',
    retryAfterSeconds: null,
  },
  superseded: {
    kind: 'empty',
    message: 'You have opened another workout since. To watch this one, please open it again.',
    retryAfterSeconds: null,
  },
  not_found: {
    kind: 'empty',
    message: 'There is no such workout any more. Please choose another one from the list.',
    retryAfterSeconds: null,
  },
  dependency_timeout: {
    kind: 'clip',
    message: 'The video is taking too long to arrive. Please try again in a few seconds.',
    retryAfterSeconds: 10,
  },
  broker_error: {
    kind: 'clip',
    message: 'The video could not be loaded. Please try again in half a minute.',
    retryAfterSeconds: 30,
  },
  redis_unavailable: {
    kind: 'clip',
    message: 'The service is being restored. Please try again in a few seconds.',
    retryAfterSeconds: 10,
  },
});

/** An error that carries only a cause: another process sent the cause, or the throwing code chose it. */
export class CauseError extends AppError {
  override readonly code = 'RELIABILITY_CAUSE';
  override readonly kind = 'unavailable';
  constructor(
    readonly why: Cause,
    options?: ErrorOptions,
  ) {
    super(CAUSE_ANSWERS[why].message, options);
  }
}

// Errors are wrapped a few times at most; the bound ends a chain of causes that leads back to itself.
const MAX_DEPTH = 10;

/**
 * Maps an error, or an error wrapped in it, to a cause. An unknown error becomes `broker_error`, since the athlete gets the
 * same advice. The caller logs the error.
 */
export function causeOf(error: unknown): Cause {
  let current = error;
  for (let depth = 0; depth < MAX_DEPTH && typeof current === 'object' && current !== null; depth += 1) {
    const known = knownCause(current);
    if (known) return known;
    current = (current as Error).cause;
  }
  return 'broker_error';
}

function knownCause(error: object): Cause | undefined {
  if (error instanceof CauseError) return error.why;
  if (error instanceof Superseded) return 'superseded';
  if (error instanceof NotFound) return 'not_found';
  if (error instanceof Forbidden) return 'policy_blocked';
  if (error instanceof CallTimedOut || error instanceof DeadlineExceeded) return 'dependency_timeout';
  // The error of `AbortSignal.timeout`, a DOMException.
  if ((error as Error).name === 'TimeoutError') return 'dependency_timeout';
  if (error instanceof DependencyUnavailable)
    return error.dependency === 'redis' ? 'redis_unavailable' : undefined;
  return isRedisAway(error) ? 'redis_unavailable' : undefined;
}

function frozen<T extends Record<string, object>>(table: T): T {
  for (const entry of Object.values(table)) Object.freeze(entry);
  return Object.freeze(table);
}
