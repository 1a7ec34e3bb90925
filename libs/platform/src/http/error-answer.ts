import { HttpException } from '@nestjs/common';
import { AppError, type ErrorKind } from '../errors/app-error.js';
import { dependencyFailure } from '../errors/dependency-failure.js';

export interface ErrorAnswer {
  readonly status: number;
  readonly error: string;
  readonly details: readonly string[];
  readonly retryAfterSeconds?: number;
}

const STATUS: Record<ErrorKind, number> = {
  invalid: 400,
  unauthenticated: 401,
  forbidden: 403,
  not_found: 404,
  conflict: 409,
  throttled: 429,
  unavailable: 503,
  failed: 500,
};

/** What the caller is told. Only our own errors and the framework's 4xx speak; the rest is "Internal error". */
export function errorAnswer(thrown: unknown): ErrorAnswer {
  // First: a request that breaks off is a network error too, and the caller's own.
  const status = clientErrorStatus(thrown);
  if (status !== undefined) return { status, error: clientErrorText(status), details: [] };
  const error = dependencyFailure(thrown);
  if (!(error instanceof AppError)) return { status: 500, error: 'Internal error', details: [] };
  const { message, details, kind, retryAfterSeconds } = error;
  return { status: STATUS[kind], error: message, details, retryAfterSeconds };
}

/** Nest and Fastify both put 4xx on their errors: an unknown route, a body too large, JSON that doesn't parse. */
function clientErrorStatus(error: unknown): number | undefined {
  const status =
    error instanceof HttpException
      ? error.getStatus()
      : (error as { statusCode?: unknown } | null)?.statusCode;
  return typeof status === 'number' && status >= 400 && status < 500 ? status : undefined;
}

const CLIENT_ERROR_TEXTS: Record<number, string> = {
  400: 'Malformed request',
  404: 'Not found',
  405: 'Method not allowed',
  408: 'Request timed out',
  413: 'Request body is too large',
  414: 'Request URL is too long',
  415: 'Unsupported content type, send application/json',
  417: 'Only 100-continue can be expected',
  431: 'Request headers are too large',
};

function clientErrorText(status: number): string {
  return CLIENT_ERROR_TEXTS[status] ?? 'Request refused';
}

export function errorBody({ error, details }: ErrorAnswer, requestId: string) {
  return { error, details, request_id: requestId };
}
