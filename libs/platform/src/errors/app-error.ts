/** What a caller can do about an error; the HTTP edge turns it into a status, jobs into retry or give up. */
export type ErrorKind =
  | 'invalid'
  | 'unauthenticated'
  | 'forbidden'
  | 'not_found'
  | 'conflict'
  | 'throttled'
  | 'unavailable'
  | 'failed';

/**
 * The base of every error of ours that somebody can act on: one class per thing to act on, a stable `code`, the cause
 * kept. Anything else that is thrown is a bug and answered as one.
 */
export abstract class AppError extends Error {
  abstract readonly code: string;
  abstract readonly kind: ErrorKind;
  /** `field: what` lines for the caller. */
  readonly details: readonly string[] = [];
  readonly retryAfterSeconds?: number;

  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
  }
}

export class InvalidInput extends AppError {
  override readonly code = 'INPUT.INVALID';
  override readonly kind = 'invalid';
  constructor(override readonly details: readonly string[]) {
    super('Validation failed');
  }
}

export class NotFound extends AppError {
  override readonly code = 'NOT_FOUND';
  override readonly kind = 'not_found';
  constructor(what = 'Not found') {
    super(what);
  }
}

export class Unauthenticated extends AppError {
  override readonly code = 'AUTH.UNAUTHENTICATED';
  override readonly kind = 'unauthenticated';
}

export class Forbidden extends AppError {
  override readonly code = 'AUTH.FORBIDDEN';
  override readonly kind = 'forbidden';
}

export class TooManyRequests extends AppError {
  override readonly code = 'THROTTLED';
  override readonly kind = 'throttled';
  constructor(override readonly retryAfterSeconds: number) {
    super('Too many requests');
  }
}

export type Dependency = 'postgres' | 'redis' | 'nats';

/** A server we need is away. Never an accident of the caller, so it says when to come back. */
export class DependencyUnavailable extends AppError {
  override readonly code = 'DEPENDENCY.UNAVAILABLE';
  override readonly kind = 'unavailable';
  override readonly retryAfterSeconds = 5;
  constructor(
    readonly dependency: Dependency,
    options?: ErrorOptions,
  ) {
    super(`${dependency} is unavailable`, options);
  }
}
