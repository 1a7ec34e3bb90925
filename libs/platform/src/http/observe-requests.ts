import { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { LineLimit } from '../logging/line-limit.js';
import { type Logger, withoutRedaction } from '../logging/logger.js';
import { Counter, Histogram } from 'prom-client';
import { randomUUID } from 'node:crypto';
import { type IncomingHttpHeaders } from 'node:http';
import { startAtZero } from '../metrics/start-at-zero.js';
import { beginRequestSpan, type RequestSpan } from '../tracing/tracing.js';
import { allowedWaitMs } from './deadline.js';

const httpRequestDuration = new Histogram({
  name: 'http_request_duration_seconds',
  help: 'Time from the first byte of a request to the last of its answer',
  labelNames: ['method', 'route', 'status'],
  buckets: [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5],
});

const UNMATCHED = 'unmatched';

// Routes answer within 5 s, and nearly all within 0.1 s.
const SLOW_MS = 1_000;

/**
 * Sets `x-request-id` on every answer, writes the access log, observes the histogram and, if tracing is on, makes a span.
 *
 * | request                         | line                                                        |
 * | ------------------------------- | ----------------------------------------------------------- |
 * | 401, 403                        | info, at most one a second over all requests of the process |
 * | another status from 400 on      | info                                                        |
 * | POST, PUT, PATCH, DELETE        | info                                                        |
 * | takes a second or longer        | info; the time that the client asked to wait is not counted |
 * | another GET, HEAD or OPTIONS    | info for one of `readsEvery`, chosen at random; else debug  |
 */
export function observeRequests(
  server: FastifyInstance,
  logger: Logger,
  readsEvery: number,
  random: () => number = Math.random,
): void {
  const accessLog = withoutRedaction(logger);
  const refusals = new RefusalLog();
  const spans = new WeakMap<FastifyRequest, RequestSpan>();

  server.addHook('onRequest', (request, reply, done) => {
    void reply.header('x-request-id', request.id);
    const span = beginRequestSpan(request.method, request.headers);
    if (!span) return done();
    spans.set(request, span);
    span.run(done);
  });

  server.addHook('onResponse', (request, reply, done) => {
    const route = request.routeOptions.url ?? UNMATCHED;
    const { method } = request;
    const { statusCode: status, elapsedTime } = reply;
    // A client may ask every route with every method, and each pair would stay in memory and in /metrics.
    const counted = status === 405 ? UNMATCHED : route;
    httpRequestDuration.observe({ method, route: counted, status }, elapsedTime / 1_000);
    const unlogged = status === 401 || status === 403 ? refusals.count(status) : 0;
    const facts = { method, status, ms: elapsedTime, allowedMs: allowedWaitMs(request) };
    const isOrdinary = isOrdinaryRead({ ...facts, isEventStream: isEventStream(reply) });
    const isSampled = isOrdinary && random() * readsEvery < 1;
    const level = isOrdinary && !isSampled ? 'debug' : 'info';
    if (unlogged !== undefined && accessLog.isLevelEnabled(level)) {
      const ms = Math.round(elapsedTime * 10) / 10;
      const more = { ...(unlogged > 0 && { unlogged }), ...(isSampled && { sampled: readsEvery }) };
      accessLog[level]({ request_id: request.id, method, route, status, ms, ...more }, 'request');
    }
    spans.get(request)?.end(route, status);
    done();
  });
}

const READS = new Set(['GET', 'HEAD', 'OPTIONS']);

interface Finished {
  readonly method: string;
  readonly status: number;
  readonly ms: number;
  /** The time that the client asked to wait. */
  readonly allowedMs: number;
  readonly isEventStream: boolean;
}

/** A read that succeeded in time. Event streams last as long as their readers want. */
export function isOrdinaryRead({ method, status, ms, allowedMs, isEventStream }: Finished): boolean {
  if (status >= 400 || !READS.has(method)) return false;
  return ms < SLOW_MS + allowedMs || isEventStream;
}

const isEventStream = ({ raw }: FastifyReply) =>
  String(raw.getHeader('content-type')).startsWith('text/event-stream');

const refused = new Counter({
  name: 'http_refusals_total',
  help: 'Requests that were refused for want of a token, a key or a role',
  labelNames: ['status'],
});
startAtZero(refused, [{ status: 401 }, { status: 403 }]);

const LINE_EVERY_MS = 1_000;

/**
 * Unauthenticated callers can cause any number of refusals. So all refusals are counted, but at most one line a second is logged. Each line
 * has the number of refusals that were not logged since the previous line.
 */
export class RefusalLog {
  private readonly lines = new LineLimit(LINE_EVERY_MS);

  /** Undefined if this refusal must not be logged; otherwise the number of refusals skipped since the previous log line. */
  count(status: number, nowMs?: number): number | undefined {
    refused.inc({ status });
    return this.lines.admit(nowMs);
  }
}

// A service key has the form of an id. It must not get into the log, so it is no id.
const ACCEPTED_ID = /^(?!pk_)[\w.-]{1,64}$/;

/**
 * Returns the client's `x-request-id`, so that the client's log and ours have the same id. If the header is missing, longer than 64
 * characters or has unusual characters, the function returns a new id.
 */
export function requestIdOf(headers: IncomingHttpHeaders): string {
  const given = headers['x-request-id'];
  return typeof given === 'string' && ACCEPTED_ID.test(given) ? given : randomUUID();
}
