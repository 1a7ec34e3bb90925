import { AppError } from '#platform';

export class ImportFinished extends AppError {
  override readonly code = 'IMPORT.FINISHED';
  override readonly kind = 'conflict';
  constructor(status: string) {
    super(`The import is ${status} and can no longer be cancelled`);
  }
}

export class TooManyFollowers extends AppError {
  override readonly code = 'IMPORT.TOO_MANY_STREAMS';
  override readonly kind = 'throttled';
  override readonly retryAfterSeconds = 5;
  constructor(most: number) {
    super(`No more than ${most} streams of events at once: close another first`);
  }
}

/** Cancelled, or somebody else's. Thrown where rows were written, so that they go as well. */
export class TurnOver extends AppError {
  override readonly code = 'IMPORT.TURN_OVER';
  override readonly kind = 'conflict';
  constructor() {
    super('The turn is over');
  }
}

export class NothingToImportFrom extends AppError {
  override readonly code = 'IMPORT.NOT_CONNECTED';
  override readonly kind = 'conflict';
  constructor() {
    super('Strava is not connected: POST /v1/connections/strava first');
  }
}
