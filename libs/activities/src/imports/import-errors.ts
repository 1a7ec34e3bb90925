import { AppError } from '#platform';

export class ImportFinished extends AppError {
  override readonly code = 'IMPORT.FINISHED';
  override readonly kind = 'conflict';
  constructor(status: string) {
    super(`The import is ${status} and can no longer be cancelled`);
  }
}

export class NothingToImportFrom extends AppError {
  override readonly code = 'IMPORT.NOT_CONNECTED';
  override readonly kind = 'conflict';
  constructor() {
    super('Strava is not connected: POST /v1/connections/strava first');
  }
}
