import { AppError } from '#platform';

/** The athlete has disconnected since the vendor was asked. The answer is dropped. */
export class ConnectionCut extends AppError {
  override readonly code = 'CONNECTION.CUT';
  override readonly kind = 'conflict';
  constructor() {
    super('The connection has been cut meanwhile');
  }
}
