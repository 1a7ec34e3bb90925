import { type SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';

/** A span around work, current while it runs. Without tracing it is the API's no-op. */
export function inSpan<T>(name: string, kind: SpanKind, work: () => Promise<T>): Promise<T> {
  return trace.getTracer('pacekeeper').startActiveSpan(name, { kind }, async (span) => {
    try {
      return await work();
    } catch (error) {
      span.setStatus({ code: SpanStatusCode.ERROR });
      throw error;
    } finally {
      span.end();
    }
  });
}
