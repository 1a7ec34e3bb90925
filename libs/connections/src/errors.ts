import { AppError } from '#platform';
import { titleOf, type Vendor, type VendorId } from '#vendors';

/** The athlete has no connection to the vendor. */
export class NotConnected extends AppError {
  override readonly code = 'NOT_CONNECTED';
  override readonly kind = 'not_found';
  constructor({ title }: Pick<Vendor, 'title'>) {
    super(`${title} is not connected`);
  }
}

/** The vendor's token endpoint gave no usable answer. The connection is unchanged. */
export class VendorUnreachable extends AppError {
  override readonly code = 'VENDOR_UNREACHABLE';
  override readonly kind = 'unavailable';
  constructor(
    readonly provider: VendorId,
    override readonly retryAfterSeconds: number,
    options?: ErrorOptions,
  ) {
    super(`${titleOf(provider)} cannot be reached`, options);
  }
}

/** The athlete disconnected between the call to the vendor and the write of its answer. The answer is dropped. */
export class ConnectionCut extends AppError {
  override readonly code = 'CONNECTION_CUT';
  override readonly kind = 'conflict';
  constructor() {
    super('The athlete disconnected during the call, so its answer was dropped');
  }
}
