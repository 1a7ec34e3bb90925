import { type Meter, type NoPermit } from '#reliability';

/** The HTTP client for OAuth calls. The implementation limits time and size. */
export interface Http {
  /** Throws after a timeout, a reset, an abort or an answer that is too large. Returns NoPermit only if `meter` is given. */
  call(
    request: HttpRequest,
    meter?: Meter<NoPermit>,
  ): Promise<{ readonly kind: 'answered'; readonly answer: HttpAnswer } | NoPermit>;
}

export interface HttpRequest {
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly signal?: AbortSignal;
  readonly maxBytes?: number;
  /** False: the client does not retry this request. */
  readonly repeatable?: boolean;
}

export interface HttpAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

export const VENDOR_HTTP = Symbol('vendor http');
