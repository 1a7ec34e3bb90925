import { propagation, ROOT_CONTEXT, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import { type MsgHdrs } from '@nats-io/transport-node';

export type TraceHeaders = Readonly<Record<string, string>>;

export interface ContinuedTrace {
  /** For the events that come of it. Where this process is not traced, those of whoever was. */
  readonly headers: TraceHeaders;
  end(outcome: 'ok' | 'error'): void;
}

const FIELDS = ['traceparent', 'tracestate'];
const UNTRACED: ContinuedTrace = { headers: {}, end: () => undefined };

/** A span of the message's own trace, from now until `end`. */
export function continueTrace(name: string, message: MsgHdrs | undefined): ContinuedTrace {
  const carried = traceHeadersOf(message);
  const parent = propagation.extract(ROOT_CONTEXT, carried);
  const span = trace.getTracer('pacekeeper').startSpan(name, { kind: SpanKind.CONSUMER }, parent);
  if (!span.isRecording()) return carried === UNTRACED.headers ? UNTRACED : { ...UNTRACED, headers: carried };
  const headers: Record<string, string> = {};
  propagation.inject(trace.setSpan(parent, span), headers);
  return {
    headers,
    end: (outcome) => {
      if (outcome === 'error') span.setStatus({ code: SpanStatusCode.ERROR });
      span.end();
    },
  };
}

function traceHeadersOf(message: MsgHdrs | undefined): TraceHeaders {
  if (!message?.has('traceparent')) return UNTRACED.headers;
  return Object.fromEntries(
    FIELDS.filter((field) => message.has(field)).map((field) => [field, message.get(field)]),
  );
}
