import { AppError } from '#platform';
import { type Provider } from './oauth/provider.js';
import { titleOf } from './oauth/providers.js';

export class NotConnected extends AppError {
  override readonly code = 'CONNECTIONS.NOT_CONNECTED';
  override readonly kind = 'not_found';
  constructor(readonly provider: Provider) {
    super(`${titleOf(provider)} is not connected`);
  }
}

/** The vendor ended the grant. Only the athlete can mend it, by connecting again. */
export class NeedsReauth extends AppError {
  override readonly code = 'CONNECTIONS.NEEDS_REAUTH';
  override readonly kind = 'conflict';
  constructor(readonly provider: Provider) {
    super(`${titleOf(provider)} has ended the connection: connect it again`);
  }
}

/** The vendor did not answer sensibly. The connection is as good as before. */
export class VendorUnreachable extends AppError {
  override readonly code = 'CONNECTIONS.VENDOR_UNREACHABLE';
  override readonly kind = 'unavailable';
  constructor(
    readonly provider: Provider,
    override readonly retryAfterSeconds: number,
    options?: ErrorOptions,
  ) {
    super(`${titleOf(provider)} cannot be reached`, options);
  }
}
