import { type AppError } from '#platform';

export interface OutboundRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly signal?: AbortSignal;
  /** Limit of the body in bytes, both as it is received and after decompression. */
  readonly maxBytes?: number;
  /** False: the request is never sent a second time. */
  readonly repeatable?: boolean;
}

/** Status and headers of an answer: enough to settle a permit even if the body breaks off. */
export interface AnswerHead {
  readonly status: number;
  /** Keyed by lower-case name; the values of a repeated header are joined by commas. */
  readonly headers: Readonly<Record<string, string>>;
}

export interface OutboundAnswer extends AnswerHead {
  readonly body: Buffer;
}

export interface SendContext {
  readonly host: string;
  /** When aborted, the exchange fails with `signal.reason`. */
  readonly signal: AbortSignal;
  /** Called when there is a connection, just before the request is written. */
  mayWrite(): boolean;
}

export type ExchangeOutcome =
  | { readonly kind: 'answered'; readonly answer: OutboundAnswer }
  | {
      readonly kind: 'failed';
      readonly error: AppError;
      readonly written: boolean;
      readonly head?: AnswerHead;
      /** The first 1 kB of an incomplete body. Absent if the body is compressed or nothing of it arrived. */
      readonly beginning?: Buffer;
    }
  /** `mayWrite` returned false, and nothing was written. */
  | { readonly kind: 'stale' };

/** Sends one HTTP request and reads its whole answer. Never rejects. */
export type Exchange = (request: OutboundRequest, sending: SendContext) => Promise<ExchangeOutcome>;
