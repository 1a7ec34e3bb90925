import type * as Otel from '@opentelemetry/api';
import { type MsgHdrs } from '@nats-io/transport-node';

export interface Tracing {
  /** Sends the buffered spans. */
  stop(): Promise<void>;
}

const OFF: Tracing = { stop: () => Promise.resolve() };

/**
 * Set only if an endpoint is configured. Until then the SDK is not in memory, and the functions of this file run the given work and nothing
 * else. The small API package is in memory in any case, because prom-client loads it.
 */
let otel: typeof Otel | undefined;

/** Loads the SDK if an endpoint is configured. */
export async function startTracing(endpoint: string | undefined, serviceName: string): Promise<Tracing> {
  if (!endpoint) return OFF;
  const [api, { NodeTracerProvider, BatchSpanProcessor }, { OTLPTraceExporter }, { resourceFromAttributes }] =
    await Promise.all([
      import('@opentelemetry/api'),
      import('@opentelemetry/sdk-trace-node'),
      import('@opentelemetry/exporter-trace-otlp-http'),
      import('@opentelemetry/resources'),
    ]);
  const exporter = new OTLPTraceExporter({
    url: `${endpoint.replace(/\/+$/, '')}/v1/traces`,
    timeoutMillis: 5_000,
  });
  const provider = new NodeTracerProvider({
    resource: resourceFromAttributes({ 'service.name': serviceName }),
    spanProcessors: [new BatchSpanProcessor(exporter)],
  });
  // Registers the W3C propagator and the context that follows async calls.
  provider.register();
  otel = api;
  return { stop: () => provider.shutdown() };
}

/** `traceparent` and `tracestate` of the W3C specification. */
export type TraceHeaders = Readonly<Record<string, string>>;

const NO_HEADERS: TraceHeaders = Object.freeze({});

/** The headers of the current span, for a message or a row that continues it. Empty if this process does not trace. */
export function traceHeaders(): TraceHeaders {
  return otel ? headersOf(otel.context.active()) : NO_HEADERS;
}

/** The id of the current trace, for log lines. */
export function currentTraceId(): string | undefined {
  return otel?.trace.getActiveSpan()?.spanContext().traceId;
}

type SpanKind = keyof typeof Otel.SpanKind;

/** Runs work in a span. `parent`: the span that the work continues; by default the current one. */
export async function inSpan<T>(
  name: string,
  kind: SpanKind,
  work: () => Promise<T>,
  parent?: TraceHeaders,
): Promise<T> {
  if (!otel) return work();
  const { context, SpanKind: kinds, SpanStatusCode, trace } = otel;
  const outer = parent ? contextOf(parent) : context.active();
  const span = trace.getTracer('pacekeeper').startSpan(name, { kind: kinds[kind] }, outer);
  try {
    return await context.with(trace.setSpan(outer, span), work);
  } catch (error) {
    span.setStatus({ code: SpanStatusCode.ERROR });
    throw error;
  } finally {
    span.end();
  }
}

/** Adds attributes to the current span. They must not hold tokens, secrets or personal data. */
export function describeSpan(attributes: Otel.Attributes): void {
  otel?.trace.getActiveSpan()?.setAttributes(attributes);
}

export interface ContinuedTrace {
  /**
   * Trace headers for events that this message causes. If this process does not trace, they are the trace headers of the message itself.
   */
  readonly headers: TraceHeaders;
  end(outcome: 'ok' | 'error'): void;
}

const FIELDS = ['traceparent', 'tracestate'];
const noEnd = () => undefined;
const UNTRACED: ContinuedTrace = { headers: NO_HEADERS, end: noEnd };

/** Begins a span in the trace of the message. The span lasts until `end` is called. */
export function continueTrace(name: string, message: MsgHdrs | undefined): ContinuedTrace {
  const received = traceHeadersOf(message);
  if (!otel) return received === NO_HEADERS ? UNTRACED : { headers: received, end: noEnd };
  const { SpanKind: kinds, SpanStatusCode, trace } = otel;
  const parent = contextOf(received);
  const span = trace.getTracer('pacekeeper').startSpan(name, { kind: kinds.CONSUMER }, parent);
  return {
    headers: headersOf(trace.setSpan(parent, span)),
    end: (outcome) => {
      if (outcome === 'error') span.setStatus({ code: SpanStatusCode.ERROR });
      span.end();
    },
  };
}

export interface RequestSpan {
  /** Calls `next` in the span. */
  run(next: () => void): void;
  end(route: string, status: number): void;
}

/** Begins the span of an HTTP request, in the trace that its headers name. Undefined if this process does not trace. */
export function beginRequestSpan(
  method: string,
  headers: Readonly<Record<string, unknown>>,
): RequestSpan | undefined {
  if (!otel) return undefined;
  const { context, propagation, SpanKind: kinds, SpanStatusCode, trace } = otel;
  const parent = propagation.extract(context.active(), headers);
  const span = trace.getTracer('http').startSpan(`HTTP ${method}`, { kind: kinds.SERVER }, parent);
  return {
    run: (next) => context.with(trace.setSpan(parent, span), next),
    end: (route, status) => {
      span.updateName(`${method} ${route}`);
      span.setAttributes({
        'http.request.method': method,
        'http.route': route,
        'http.response.status_code': status,
      });
      if (status >= 500) span.setStatus({ code: SpanStatusCode.ERROR });
      span.end();
    },
  };
}

function traceHeadersOf(message: MsgHdrs | undefined): TraceHeaders {
  if (!message?.has('traceparent')) return NO_HEADERS;
  return Object.fromEntries(
    FIELDS.filter((field) => message.has(field)).map((field) => [field, message.get(field)]),
  );
}

function contextOf(headers: TraceHeaders): Otel.Context {
  const { propagation, ROOT_CONTEXT } = otel as typeof Otel;
  return propagation.extract(ROOT_CONTEXT, headers);
}

function headersOf(context: Otel.Context): TraceHeaders {
  const headers: Record<string, string> = {};
  otel?.propagation.inject(context, headers);
  // A client's `baggage` may hold anything, so it does not go into messages.
  delete headers.baggage;
  return headers;
}
