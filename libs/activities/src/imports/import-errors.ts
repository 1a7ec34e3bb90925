import { AppError } from '#platform';
import { titleOf, type VendorId } from '#vendors';

/** A finished import cannot be cancelled. */
export class ImportFinished extends AppError {
  override readonly code = 'IMPORT_FINISHED';
  override readonly kind = 'conflict';
  constructor(status: string) {
    super(`The import is ${status} and can no longer be cancelled`);
  }
}

/** The athlete has too many event streams open. */
export class TooManyFollowers extends AppError {
  override readonly code = 'TOO_MANY_EVENT_STREAMS';
  override readonly kind = 'throttled';
  override readonly retryAfterSeconds = 5;
  constructor(most: number) {
    super(`At most ${most} event streams of an athlete may be open: close one first`);
  }
}

/** The athlete's imports of the last hour have reached a limit: their number, or the pages that they listed again. */
export class TooManyImports extends AppError {
  override readonly code = 'IMPORT_LIMIT';
  override readonly kind = 'throttled';
  constructor(override readonly retryAfterSeconds: number) {
    super('Too many imports within an hour, or too much of the history listed again: wait for Retry-After');
  }
}

/** The athlete has no connection from which to import. */
export class NothingToImportFrom extends AppError {
  override readonly code = 'NOT_CONNECTED';
  override readonly kind = 'conflict';
  constructor(vendors: readonly VendorId[]) {
    const titles = vendors.map(titleOf);
    const subject =
      titles.length > 1 ? `None of ${titles.join(', ')}` : (titles[0] ?? 'No vendor of activities');
    super(`${subject} is not connected: POST /v1/connections/${vendors.join('|')} first`);
  }
}
