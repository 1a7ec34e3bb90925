/** The kind of an error. It decides the HTTP status of an answer, and whether a job is retried or fails for good. */
export type ErrorKind =
  | 'invalid'
  | 'unauthenticated'
  | 'forbidden'
  | 'not_found'
  | 'conflict'
  | 'gone'
  | 'throttled'
  | 'bad_gateway'
  | 'unavailable'
  /** A limit of ours is reached: an expected refusal, which is not logged as an error. */
  | 'busy'
  | 'failed';

/**
 * Base of all errors of the API that a caller or an operator can act on. Each has a stable `code` that docs/errors.md explains. Any other
 * error of our code is a bug, and the API answers 500.
 */
export abstract class AppError extends Error {
  abstract readonly code: string;
  abstract readonly kind: ErrorKind;
  /** Lines for the caller, each `field: problem`. */
  readonly details: readonly string[] = [];
  readonly retryAfterSeconds?: number;
  /** Further fields of the answer. */
  readonly fields?: Readonly<Record<string, string>>;

  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
  }
}

/** The request is malformed; `details` names the fields. */
export class InvalidInput extends AppError {
  override readonly code = 'VALIDATION_FAILED';
  override readonly kind = 'invalid';
  constructor(override readonly details: readonly string[]) {
    super('Validation failed');
  }
}

/** The object does not exist, or belongs to another athlete. */
export class NotFound extends AppError {
  override readonly code = 'NOT_FOUND';
  override readonly kind = 'not_found';
  constructor(message = 'Not found') {
    super(message);
  }
}

/** The token or key is missing or not valid. */
export class Unauthenticated extends AppError {
  override readonly code = 'UNAUTHENTICATED';
  override readonly kind = 'unauthenticated';
}

/** The caller lacks the role. */
export class Forbidden extends AppError {
  override readonly code = 'FORBIDDEN';
  override readonly kind = 'forbidden';
}

/** The caller has used up a limit. */
export class TooManyRequests extends AppError {
  override readonly code = 'THROTTLED';
  override readonly kind = 'throttled';
  constructor(override readonly retryAfterSeconds: number) {
    super('Too many requests');
  }
}

type Dependency = 'postgres' | 'redis' | 'nats';

/** Postgres, Redis or NATS does not answer. The caller should repeat the request after `retryAfterSeconds`. */
export class DependencyUnavailable extends AppError {
  override readonly code = 'DEPENDENCY_UNAVAILABLE';
  override readonly kind = 'unavailable';
  override readonly retryAfterSeconds = 5;
  constructor(
    readonly dependency: Dependency,
    options?: ErrorOptions,
  ) {
    super(`${dependency} is unavailable`, options);
  }
}
