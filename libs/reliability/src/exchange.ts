import { type AppError } from '#platform';

export interface OutboundRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly signal?: AbortSignal;
  /** Of the body, decompressed. */
  readonly maxBytes?: number;
  /** False: never tried twice. */
  readonly repeatable?: boolean;
}

/** The part of an answer that comes first: all that accounting needs, also where the body then breaks off. */
export interface Head {
  readonly status: number;
  /** By lower-case name; a repeated one joined by commas. */
  readonly headers: Readonly<Record<string, string>>;
}

export interface OutboundAnswer extends Head {
  readonly body: Buffer;
}

export interface Sending {
  readonly host: string;
  /** Its reason is the error that the exchange then fails with. */
  readonly signal: AbortSignal;
  /** Asked when the connection stands and the request would be written. */
  mayWrite(): boolean;
}

export type Exchanged =
  | { readonly kind: 'answered'; readonly answer: OutboundAnswer }
  | { readonly kind: 'failed'; readonly error: AppError; readonly written: boolean; readonly head?: Head }
  /** `mayWrite` said no, and nothing was written. */
  | { readonly kind: 'stale' };

/** One HTTP request and its whole answer. Never rejects. */
export type Exchange = (request: OutboundRequest, sending: Sending) => Promise<Exchanged>;
