import { AppError, DependencyUnavailable, Forbidden, isRedisAway, NotFound } from '#platform';
import { DeadlineExceeded, Superseded } from './coalesce/coalesce.errors.js';
import { CallTimedOut } from './outbound.errors.js';

/** Why somebody does not get what they asked for, in the words of the contract. */
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

export interface CauseAnswer {
  /** Nothing to play, with the reason; or a clip that says what to do, where something should have been there. */
  readonly kind: 'empty' | 'clip';
  /** For a person, who can do something about it. */
  readonly message: string;
  /** Null: asking again changes nothing. */
  readonly retryAfterSeconds: number | null;
}

/** The same cause always gets the same answer: nothing here depends on the moment or on who asks. */
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

/** A cause where nothing else is known of the error: it was told by another process, or is decided by whoever throws it. */
export class CauseError extends AppError {
  override readonly code = 'RELIABILITY.CAUSE';
  override readonly kind = 'unavailable';
  constructor(
    readonly why: Cause,
    options?: ErrorOptions,
  ) {
    super(CAUSE_ANSWERS[why].message, options);
  }
}

// Errors are wrapped a few times at most; a cause that leads back to itself must not be followed for ever.
const DEEPEST = 10;

/**
 * The one place where an error becomes a cause. What nobody has foreseen is answered like a broken broker, since to a person
 * both are the same; whoever catches it has to log it.
 */
export function causeOf(error: unknown): Cause {
  let current = error;
  for (let depth = 0; depth < DEEPEST && typeof current === 'object' && current !== null; depth += 1) {
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
  // Of `AbortSignal.timeout`, whose error is a DOMException.
  if ((error as Error).name === 'TimeoutError') return 'dependency_timeout';
  if (error instanceof DependencyUnavailable)
    return error.dependency === 'redis' ? 'redis_unavailable' : undefined;
  return isRedisAway(error) ? 'redis_unavailable' : undefined;
}

function frozen<T extends Record<string, object>>(table: T): T {
  for (const entry of Object.values(table)) Object.freeze(entry);
  return Object.freeze(table);
}
