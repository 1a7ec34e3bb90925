import { type TraceHeaders, traceHeaders } from './tracing.js';

/** Header of a message: the id of the HTTP request that caused it. Messages that follow from it keep this header. */
export const REQUEST_ID = 'request-id';

/**
 * Where work comes from: the HTTP request that caused it and the span that asked for it. Rows and messages carry it from process to process,
 * so that log lines have the request's id and spans belong to one trace. Both are null for work that no request caused.
 */
export interface Origin {
  readonly requestId: string | null;
  readonly traceparent: string | null;
}

export const NO_ORIGIN: Origin = { requestId: null, traceparent: null };

/** The origin of work that is asked for now. */
export function originNow(requestId: string | undefined): Origin {
  return { requestId: requestId ?? null, traceparent: traceHeaders().traceparent ?? null };
}

/** The parent for `inSpan`. Without a trace, the work begins its own. */
export function traceOf({ traceparent }: Pick<Origin, 'traceparent'>): TraceHeaders {
  return traceparent ? { traceparent } : {};
}

/** The field of log lines. */
export function requestIdField(requestId: string | null | undefined): { readonly request_id?: string } {
  return requestId ? { request_id: requestId } : {};
}
