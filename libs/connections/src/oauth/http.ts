import { type Meter, type Refusal } from '#reliability';

type Answered = { readonly kind: 'answered'; readonly answer: HttpAnswer };

/** How this lib calls a vendor: bounded in time and size by whoever provides it. */
export interface Http {
  /** Throws where there is no answer: time-out, reset, abort, too large. Refused is only what has a meter. */
  call(request: HttpRequest, meter?: Meter<Refusal>): Promise<Answered | Refusal>;
}

export interface HttpRequest {
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly signal?: AbortSignal;
  readonly maxBytes?: number;
  /** False: never sent a second time by itself. */
  readonly repeatable?: boolean;
}

export interface HttpAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

export const VENDOR_HTTP = Symbol('vendor http');
