import { type OutgoingHttpHeaders } from 'node:http';
import { type FastifyReply, type FastifyRequest } from 'fastify';
import { type Core } from './core.js';
import { type Dialect } from './dialect.js';
import { type AnswerKind, type Fault, INSTEAD_KINDS, type InsteadKind, type RequestKind } from './faults.js';
import { type BucketUse } from './limits.js';

const DEFAULT_DELAY_MS = 2_000;
const SLOW_BODY_PIECES = 10;
const UNSENT_BYTES = 64;
const GATEWAY_PAGE = `<!DOCTYPE html>
<html><head><title>502 Bad Gateway</title></head>
<body><center><h1>502 Bad Gateway</h1></center><hr><center>nginx</center></body></html>
`;

export function isInstead(kind: RequestKind): kind is InsteadKind {
  return (INSTEAD_KINDS as readonly RequestKind[]).includes(kind);
}

/** Answers the request. The handler does not run. */
export function answerInstead(
  kind: InsteadKind,
  dialect: Dialect,
  request: FastifyRequest,
  reply: FastifyReply,
  uses: readonly BucketUse[],
): void {
  switch (kind) {
    case 'http_500':
      return sayProblem(500, dialect, request, reply, uses);
    case 'http_597':
      // Strava's own status for an outage.
      void reply.code(597);
      return void reply.send(dialect.problem(500, request, uses).body);
    case 'not_found':
      return sayProblem(404, dialect, request, reply, uses);
    case 'http_429':
      return sayProblem(429, dialect, request, reply, withShortWindowFull(uses));
    case 'lying_429':
      // The rate headers still show that calls are left.
      return sayProblem(429, dialect, request, reply, uses);
    case 'app_inactive':
    case 'membership_expired':
    case 'consents_missing':
      return void reply.code(403).send(dialect.forbidden?.().body);
    case 'html':
      return void reply.code(502).type('text/html').send(GATEWAY_PAGE);
    case 'timeout':
      return void reply.hijack();
    case 'reset':
      reply.hijack();
      return resetConnection(reply);
  }
}

type Done = (error: Error | null, payload?: unknown) => void;

/**
 * Changes `payload`, the answer of a handler that has run. `half_open`, `wrong_length` and `slow_body` write to the
 * socket and do not call `done`, because Fastify would correct their content-length.
 */
export function alterAnswer(
  core: Core,
  fault: Fault & { kind: AnswerKind },
  reply: FastifyReply,
  payload: unknown,
  done: Done,
): void {
  const delayMs = fault.delay_ms ?? DEFAULT_DELAY_MS;
  if (fault.kind === 'slow') return void core.clock.after(delayMs, () => done(null, payload));
  if (fault.kind === 'lost_answer') return resetConnection(reply);
  if (typeof payload !== 'string' && !Buffer.isBuffer(payload)) return done(null, payload);

  const bytes = Buffer.from(payload);
  switch (fault.kind) {
    case 'malformed':
      return done(null, truncatedJson(bytes));
    case 'empty':
      return done(null, '');
    case 'empty_json':
      return done(null, bytes[0] === 0x5b ? '[]' : '{}');
    case 'half_open':
      startAnswer(reply, bytes.length);
      return void reply.raw.write(bytes.subarray(0, bytes.length / 2));
    case 'wrong_length':
      startAnswer(reply, bytes.length + UNSENT_BYTES);
      return void reply.raw.write(bytes, () => reply.raw.socket?.end());
    case 'slow_body':
      startAnswer(reply, bytes.length);
      return sendInPieces(core, reply, bytes, delayMs);
  }
}

function sayProblem(
  status: 404 | 429 | 500,
  dialect: Dialect,
  request: FastifyRequest,
  reply: FastifyReply,
  uses: readonly BucketUse[],
): void {
  const { body, headers = {} } = dialect.problem(status, request, uses);
  void reply
    .code(status)
    .headers({ ...dialect.rateHeaders?.(request, uses), ...headers })
    .send(body);
}

/** The counters with the shortest window used up, so that the headers of an injected 429 agree with the status. */
function withShortWindowFull(uses: readonly BucketUse[]): BucketUse[] {
  const shortest = Math.min(...uses.map(({ seconds }) => seconds));
  return uses.map((use) =>
    use.seconds === shortest ? { ...use, used: Math.max(use.used, use.limit) } : use,
  );
}

/** Cuts the JSON after 60 %. Appends an unclosed `{"` to a JSON of up to 8 bytes. */
function truncatedJson(bytes: Buffer): Buffer {
  return bytes.length > 8
    ? bytes.subarray(0, Math.floor(bytes.length * 0.6))
    : Buffer.concat([bytes, Buffer.from('{"')]);
}

function startAnswer(reply: FastifyReply, contentLength: number): void {
  const headers = { ...reply.getHeaders(), 'content-length': contentLength } as OutgoingHttpHeaders;
  reply.raw.writeHead(reply.statusCode, headers);
  reply.raw.flushHeaders();
}

function sendInPieces(core: Core, reply: FastifyReply, bytes: Buffer, totalMs: number): void {
  const pieceLength = Math.ceil(bytes.length / SLOW_BODY_PIECES);
  const sendFrom = (start: number) => {
    if (reply.raw.destroyed) return;
    if (start >= bytes.length) return void reply.raw.end();
    reply.raw.write(bytes.subarray(start, start + pieceLength));
    core.clock.after(totalMs / SLOW_BODY_PIECES, () => sendFrom(start + pieceLength));
  };
  sendFrom(0);
}

function resetConnection(reply: FastifyReply): void {
  reply.raw.socket?.resetAndDestroy();
}
