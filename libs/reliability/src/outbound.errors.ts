import { AppError } from '#platform';

/** What a call to somebody else's server ends in when there is no answer. Texts name the host and nothing of the request. */
abstract class OutboundFailure extends AppError {
  override readonly kind = 'unavailable';
  override readonly retryAfterSeconds = 5;
}

export class CallTimedOut extends OutboundFailure {
  override readonly code = 'OUTBOUND.TIMED_OUT';
  constructor(host: string, options?: ErrorOptions) {
    super(`${host} did not answer in time`, options);
  }
}

/** By whoever made the call: nobody waits for its answer any more. */
export class CallAborted extends OutboundFailure {
  override readonly code = 'OUTBOUND.ABORTED';
  constructor(host: string, options?: ErrorOptions) {
    super(`The call to ${host} was aborted`, options);
  }
}

/** No connection, one that broke, or bytes on it that are no HTTP answer. */
export class ConnectionFailed extends OutboundFailure {
  override readonly code = 'OUTBOUND.CONNECTION_FAILED';
  constructor(host: string, options?: ErrorOptions) {
    super(`The connection to ${host} failed`, options);
  }
}

export class AnswerTooLarge extends OutboundFailure {
  override readonly code = 'OUTBOUND.ANSWER_TOO_LARGE';
  constructor(host: string, maxBytes: number, options?: ErrorOptions) {
    super(`${host} answered more than ${maxBytes} bytes`, options);
  }
}
