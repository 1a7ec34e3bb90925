import { HttpException } from '@nestjs/common';
import { type FastifyReply } from 'fastify';
import { AppError, type ErrorKind, InvalidInput } from '../errors/app-error.js';
import { dependencyFailure, isUnstorable } from '../errors/dependency-failure.js';

interface ErrorReply {
  readonly status: number;
  /** For programs: stable, and listed in docs/errors.md. */
  readonly code: string;
  readonly error: string;
  readonly details: readonly string[];
  readonly retryAfterSeconds?: number;
  readonly fields?: Readonly<Record<string, string>>;
}

const STATUS: Record<ErrorKind, number> = {
  invalid: 400,
  unauthenticated: 401,
  forbidden: 403,
  not_found: 404,
  conflict: 409,
  gone: 410,
  throttled: 429,
  bad_gateway: 502,
  unavailable: 503,
  busy: 503,
  failed: 500,
};

/**
 * Only messages of AppErrors reach the caller. A 4xx of the framework gets a fixed text. Any other error gets the text "Internal error".
 */
export function errorAnswer(thrown: unknown): ErrorReply {
  // Client errors are checked first, because the error of a request that breaks off has the code of a network error.
  const status = clientErrorStatus(thrown);
  if (status !== undefined) return { status, ...(CLIENT_ERRORS[status] ?? REFUSED), details: [] };
  const error = isUnstorable(thrown) ? new InvalidInput([UNSTORABLE]) : dependencyFailure(thrown);
  if (!(error instanceof AppError))
    return { status: 500, code: 'INTERNAL', error: 'Internal error', details: [] };
  const { code, message, details, kind, retryAfterSeconds, fields } = error;
  return { status: STATUS[kind], code, error: message, details, retryAfterSeconds, fields };
}

/** The 4xx status that Nest or Fastify set on their errors: an unknown route, a body too large, JSON that does not parse. */
function clientErrorStatus(error: unknown): number | undefined {
  const status =
    error instanceof HttpException
      ? error.getStatus()
      : (error as { statusCode?: unknown } | null)?.statusCode;
  return typeof status === 'number' && status >= 400 && status < 500 ? status : undefined;
}

const UNSTORABLE = 'request: must not contain NUL or half a surrogate pair';

interface ClientError {
  readonly code: string;
  readonly error: string;
}

const REFUSED: ClientError = { code: 'REQUEST_REFUSED', error: 'Request refused' };
const CLIENT_ERRORS: Readonly<Record<number, ClientError>> = {
  400: { code: 'MALFORMED_REQUEST', error: 'Malformed request' },
  404: { code: 'NOT_FOUND', error: 'Not found' },
  405: { code: 'METHOD_NOT_ALLOWED', error: 'Method not allowed' },
  408: { code: 'REQUEST_TIMEOUT', error: 'Request timed out' },
  413: { code: 'BODY_TOO_LARGE', error: 'Request body is too large' },
  414: { code: 'URL_TOO_LONG', error: 'Request URL is too long' },
  415: { code: 'UNSUPPORTED_MEDIA_TYPE', error: 'Unsupported content type, send application/json' },
  417: { code: 'EXPECTATION_FAILED', error: 'Only 100-continue can be expected' },
  431: { code: 'HEADERS_TOO_LARGE', error: 'Request headers are too large' },
};

/** For a handler that has not answered in time. */
export const LATE_ANSWER: ErrorReply = {
  status: 503,
  code: 'ANSWER_LATE',
  error: 'No answer in time',
  details: [],
  retryAfterSeconds: 5,
};

export function errorBody({ code, error, details, fields }: ErrorReply, requestId: string) {
  return { error, code, details, request_id: requestId, ...fields };
}

// Headers that a handler may have set before the error. They do not fit the error answer. With a content type other than JSON, Fastify also
// throws when it sends an object.
const REPLACED_HEADERS = [
  'accept-ranges',
  'content-disposition',
  'content-encoding',
  'content-length',
  'content-range',
  'content-type',
  'etag',
  'last-modified',
];

/** Sends an error. Does nothing if an answer has begun or the client has disconnected. */
export function sendError(reply: FastifyReply, answer: ErrorReply, requestId: string): void {
  if (reply.sent || reply.raw.headersSent || reply.raw.destroyed) return;
  for (const name of REPLACED_HEADERS) reply.removeHeader(name);
  void reply
    .status(answer.status)
    .header('cache-control', 'no-store')
    .type('application/json; charset=utf-8');
  if (answer.status === 401) void reply.header('www-authenticate', 'Bearer');
  if (answer.retryAfterSeconds !== undefined)
    void reply.header('retry-after', String(answer.retryAfterSeconds));
  void reply.send(errorBody(answer, requestId));
}
