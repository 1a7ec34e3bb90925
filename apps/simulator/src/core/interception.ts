import { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { type Core } from './core.js';
import { type Dialect } from './dialect.js';
import { type Fault, type RequestKind } from './faults.js';
import { type SeenRequest } from './judge.js';
import { type BucketUse } from './limits.js';
import { answerInstead, isInstead, alterAnswer } from './fault-injection.js';

interface Interception {
  readonly endpoint: string;
  readonly startedAtMs: number;
  readonly fault?: Fault & { kind: RequestKind };
  readonly wasRefused: boolean;
  readonly uses: readonly BucketUse[];
  readonly ended: (request: SeenRequest) => void;
}

declare module 'fastify' {
  interface FastifyRequest {
    interception: Interception | null;
  }
}

/**
 * Adds hooks that run before and after the vendor's handler. The hooks count each request, charge it to the limits, refuse
 * a request over a limit and apply faults. A vendor's plugin must call this before it adds routes. The hooks then cover all
 * routes of the vendor, and requests for unknown routes.
 */
export function interceptRequests(app: FastifyInstance, core: Core, dialect: Dialect): void {
  const { vendor } = dialect;
  app.decorateRequest('interception', null);

  app.addHook('onRequest', (request, reply, done) => {
    const endpoint = request.routeOptions.config.endpoint ?? (request.is404 ? 'other' : undefined);
    if (endpoint === undefined) return done();

    const ended = core.judge.began(vendor, endpoint);
    const charge = dialect.charge(request);
    const verdict = charge && core.limits.charge(vendor, charge.buckets, charge.token);
    const wasRefused = verdict?.allowed === false;
    const uses = core.limits.usage(vendor, charge?.token);
    const fault = wasRefused ? undefined : core.faults.forRequest(vendor, endpoint, resourceOf(request));
    request.interception = { endpoint, startedAtMs: core.clock.nowMs(), fault, wasRefused, uses, ended };
    reply.raw.once('close', () => recordEnd(core, dialect, request, reply));

    const headers = dialect.rateHeaders?.(request, uses);
    if (headers) reply.headers(headers);
    if (wasRefused) return void refuse(dialect, request, reply);
    if (fault && isInstead(fault.kind)) return answerInstead(fault.kind, dialect, request, reply, uses);
    done();
  });

  app.addHook('onSend', (request, reply, payload, done) => {
    const fault = request.interception?.fault;
    if (!fault || isInstead(fault.kind)) return done(null, payload);
    alterAnswer(core, { ...fault, kind: fault.kind }, reply, payload, done);
  });
}

function refuse(dialect: Dialect, request: FastifyRequest, reply: FastifyReply): void {
  const { body, headers = {} } = dialect.problem(429, request, request.interception?.uses ?? []);
  void reply.code(429).headers(headers).send(body);
}

function recordEnd(core: Core, dialect: Dialect, request: FastifyRequest, reply: FastifyReply): void {
  const { endpoint, startedAtMs, fault, ended } = request.interception!;
  const { vendor } = dialect;
  const nowMs = core.clock.nowMs();
  // If only a part of the answer was sent, or nothing, the client saw a broken connection.
  const wasAnswered = reply.raw.headersSent && reply.raw.writableFinished;
  ended({
    at: new Date(nowMs).toISOString(),
    vendor,
    endpoint,
    method: request.method,
    path: pathOf(request),
    status: wasAnswered ? String(reply.raw.statusCode) : 'none',
    took_ms: nowMs - startedAtMs,
    fault: fault?.kind,
  });
  const isIntact = !fault || fault.kind === 'slow' || fault.kind === 'slow_body';
  if (!wasAnswered || !isIntact || reply.raw.statusCode !== 200 || request.method !== 'GET') return;
  const resource = dialect.resource?.(request);
  if (resource !== undefined) core.judge.served(vendor, resource);
}

/** The path without the query. The page shows this path, and a query may carry secrets. */
export function pathOf(request: FastifyRequest): string {
  const end = request.url.indexOf('?');
  return end < 0 ? request.url : request.url.slice(0, end);
}

function resourceOf({ params }: FastifyRequest): string | undefined {
  return (params as { id?: string } | undefined)?.id;
}
