import { SpanKind, SpanStatusCode, context, propagation, trace } from '@opentelemetry/api';
import { type FastifyInstance, type FastifyRequest } from 'fastify';
import { type Logger, withoutRedaction } from '../logging/logger.js';
import { httpRequestDuration } from './http-metrics.js';

/** Every request gets its id on the answer, a line in the log, a place in the histogram and, if traced, a span. */
export function observeRequests(server: FastifyInstance, logger: Logger, traced: boolean): void {
  const accessLog = withoutRedaction(logger);

  server.addHook('onRequest', (request, reply, done) => {
    void reply.header('x-request-id', request.id);
    if (traced) inSpan(request, done);
    else done();
  });

  server.addHook('onResponse', (request, reply, done) => {
    const route = request.routeOptions.url ?? 'unmatched';
    const { method } = request;
    const { statusCode: status, elapsedTime } = reply;
    httpRequestDuration.observe({ method, route, status }, elapsedTime / 1_000);
    // The histogram has the successes; a line for each is for whoever asks for it.
    const level = status < 400 ? 'debug' : 'info';
    if (accessLog.isLevelEnabled(level)) {
      const ms = Math.round(elapsedTime * 10) / 10;
      accessLog[level]({ request_id: request.id, method, route, status, ms }, 'request');
    }
    if (traced) endSpan(request, route, status);
    done();
  });
}

const spans = new WeakMap<FastifyRequest, ReturnType<ReturnType<typeof trace.getTracer>['startSpan']>>();

function inSpan(request: FastifyRequest, next: () => void): void {
  const parent = propagation.extract(context.active(), request.headers);
  const span = trace.getTracer('http').startSpan(`HTTP ${request.method}`, { kind: SpanKind.SERVER }, parent);
  spans.set(request, span);
  context.with(trace.setSpan(parent, span), next);
}

function endSpan(request: FastifyRequest, route: string, status: number): void {
  const span = spans.get(request);
  if (!span) return;
  span.updateName(`${request.method} ${route}`);
  span.setAttributes({
    'http.request.method': request.method,
    'http.route': route,
    'http.response.status_code': status,
  });
  if (status >= 500) span.setStatus({ code: SpanStatusCode.ERROR });
  span.end();
}
