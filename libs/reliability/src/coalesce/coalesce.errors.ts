import { AppError } from '#platform';

/** The same client wants something else by now. */
export class Superseded extends AppError {
  override readonly code = 'COALESCE.SUPERSEDED';
  override readonly kind = 'conflict';
  constructor() {
    super('A newer request of the same client has taken the place of this one');
  }
}

/** The one who waits cannot wait any longer; what they waited for may go on for others. */
export class DeadlineExceeded extends AppError {
  override readonly code = 'COALESCE.DEADLINE_EXCEEDED';
  override readonly kind = 'unavailable';
  override readonly retryAfterSeconds = 5;
  constructor() {
    super('No answer in time');
  }
}
