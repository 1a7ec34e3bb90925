import { AppError } from '#platform';

/** A call to another server got no usable answer. The message names only the host, since the request holds secrets. */
abstract class OutboundFailure extends AppError {
  override readonly kind = 'unavailable';
  override readonly retryAfterSeconds = 5;
}

/** The call got no whole answer in time. The request may have arrived. */
export class CallTimedOut extends OutboundFailure {
  override readonly code = 'OUTBOUND_TIMED_OUT';
  constructor(host: string, options?: ErrorOptions) {
    super(`${host} did not answer in time`, options);
  }
}

/** The caller's signal aborted the call. */
export class CallAborted extends OutboundFailure {
  override readonly code = 'OUTBOUND_ABORTED';
  constructor(host: string, options?: ErrorOptions) {
    super(`The call to ${host} was aborted`, options);
  }
}

/** No connection, a connection that broke, or bytes that are not an HTTP answer. */
export class ConnectionFailed extends OutboundFailure {
  override readonly code = 'OUTBOUND_CONNECTION_FAILED';
  constructor(host: string, options?: ErrorOptions) {
    super(`The connection to ${host} failed`, options);
  }
}

/** The answer has more bytes than the call allows. */
export class AnswerTooLarge extends OutboundFailure {
  override readonly code = 'OUTBOUND_ANSWER_TOO_LARGE';
  constructor(host: string, maxBytes: number, options?: ErrorOptions) {
    super(`${host} answered more than ${maxBytes} bytes`, options);
  }
}
