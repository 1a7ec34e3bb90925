import { SpanKind, SpanStatusCode, context, propagation, trace } from '@opentelemetry/api';
import { type FastifyInstance, type FastifyRequest } from 'fastify';
import { type Logger } from '../logging/logger.js';
import { requestContext } from '../logging/request-context.js';
import { httpRequestDuration } from './http-metrics.js';

// Asked every few seconds by machines; a line for each would bury the others.
const QUIET_ROUTES = new Set(['/health/live', '/health/ready', '/metrics']);

/** Every request gets its id on the answer, a line in the log, a place in the histogram and, if traced, a span. */
export function observeRequests(server: FastifyInstance, logger: Logger, traced: boolean): void {
  server.addHook('onRequest', (request, reply, done) => {
    void reply.header('x-request-id', request.id);
    const observed = () => requestContext.run({ requestId: request.id }, done);
    if (traced) inSpan(request, observed);
    else observed();
  });

  server.addHook('onResponse', (request, reply, done) => {
    const route = request.routeOptions.url ?? 'unmatched';
    const { method } = request;
    const { statusCode: status, elapsedTime } = reply;
    httpRequestDuration.observe({ method, route, status }, elapsedTime / 1_000);
    const line = { request_id: request.id, method, route, status, ms: Math.round(elapsedTime * 10) / 10 };
    if (QUIET_ROUTES.has(route)) logger.trace(line, 'request');
    else logger.info(line, 'request');
    endSpan(request, route, status);
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
