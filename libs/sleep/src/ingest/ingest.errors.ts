import { AppError } from '#platform';

/** Nothing has been kept. The source promises a 500 here, where everything else of ours says 503. */
export class SleepNotKept extends AppError {
  override readonly code = 'SLEEP.NOT_KEPT';
  override readonly kind = 'failed';
  override readonly retryAfterSeconds = 5;
  constructor(options: ErrorOptions) {
    super('The event could not be kept, send it again', options);
  }
}

export class IdempotencyKeyReused extends AppError {
  override readonly code = 'SLEEP.IDEMPOTENCY_KEY_REUSED';
  override readonly kind = 'conflict';
  override readonly details = ['Idempotency-Key: was sent before with another body'];
  constructor() {
    super('Another event has been kept under this Idempotency-Key');
  }
}
