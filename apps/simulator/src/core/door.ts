import { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { type Core } from './core.js';
import { type Dialect } from './dialect.js';
import { type Fault, type RequestKind } from './faults.js';
import { type SeenRequest } from './judge.js';
import { type BucketUse } from './limits.js';
import { answerInstead, isInstead, spoilAnswer } from './sabotage.js';

export interface Visit {
  readonly endpoint: string;
  readonly startedAtMs: number;
  readonly fault?: Fault & { kind: RequestKind };
  readonly wasRefused: boolean;
  readonly uses: readonly BucketUse[];
  readonly ended: (request: SeenRequest) => void;
}

declare module 'fastify' {
  interface FastifyRequest {
    visit: Visit | null;
  }
}

/**
 * Everything a request passes before a vendor's handler sees it: counted, charged, refused when over a limit, or hit
 * by a fault. Call it first thing in the vendor's plugin; it covers every route of that scope, unknown ones included.
 */
export function openDoor(app: FastifyInstance, core: Core, dialect: Dialect): void {
  const { vendor } = dialect;
  app.decorateRequest('visit', null);

  app.addHook('onRequest', (request, reply, done) => {
    const endpoint = request.routeOptions.config.endpoint ?? (request.is404 ? 'other' : undefined);
    if (endpoint === undefined) return done();

    const ended = core.judge.began(vendor, endpoint);
    const charge = dialect.charge(request);
    const verdict = charge && core.limits.charge(vendor, charge.buckets, charge.token);
    const wasRefused = verdict?.allowed === false;
    const uses = core.limits.usage(vendor, charge?.token);
    const fault = wasRefused ? undefined : core.faults.forRequest(vendor, endpoint, resourceOf(request));
    request.visit = { endpoint, startedAtMs: core.clock.nowMs(), fault, wasRefused, uses, ended };
    reply.raw.once('close', () => leave(core, dialect, request, reply));

    const headers = dialect.rateHeaders?.(request, uses);
    if (headers) reply.headers(headers);
    if (wasRefused) return void refuse(dialect, request, reply);
    if (fault && isInstead(fault.kind)) return answerInstead(fault.kind, dialect, request, reply, uses);
    done();
  });

  app.addHook('onSend', (request, reply, payload, done) => {
    const fault = request.visit?.fault;
    if (!fault || isInstead(fault.kind)) return done(null, payload);
    spoilAnswer(core, { ...fault, kind: fault.kind }, reply, payload, done);
  });
}

function refuse(dialect: Dialect, request: FastifyRequest, reply: FastifyReply): void {
  const { body, headers = {} } = dialect.problem(429, request, request.visit?.uses ?? []);
  void reply.code(429).headers(headers).send(body);
}

function leave(core: Core, dialect: Dialect, request: FastifyRequest, reply: FastifyReply): void {
  const { endpoint, startedAtMs, fault, ended } = request.visit!;
  const { vendor } = dialect;
  const nowMs = core.clock.nowMs();
  // No status went out, or not the whole answer: the client saw a broken connection.
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

/** Queries may carry secrets, so what is shown and kept stops at the question mark. */
export function pathOf(request: FastifyRequest): string {
  const end = request.url.indexOf('?');
  return end < 0 ? request.url : request.url.slice(0, end);
}

function resourceOf({ params }: FastifyRequest): string | undefined {
  return (params as { id?: string } | undefined)?.id;
}
