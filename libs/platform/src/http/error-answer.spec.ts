import { NotFoundException, PayloadTooLargeException } from '@nestjs/common';
import { describe, expect, it } from '@jest/globals';
import {
  DependencyUnavailable,
  Forbidden,
  InvalidInput,
  NotFound,
  TooManyRequests,
} from '../errors/app-error.js';
import { errorAnswer } from './error-answer.js';

const withCode = (message: string, code: string) => Object.assign(new Error(message), { code });
const named = (name: string) => Object.assign(new Error('away'), { name });

describe('errorAnswer', () => {
  const table: ReadonlyArray<readonly [string, unknown, number, string]> = [
    ['NotFound', new NotFound('No such activity'), 404, 'No such activity'],
    ['Forbidden', new Forbidden('This needs the admin role'), 403, 'This needs the admin role'],
    ['InvalidInput', new InvalidInput(['date: Invalid date format']), 400, 'Validation failed'],
    ['TooManyRequests', new TooManyRequests(7), 429, 'Too many requests'],
    ['DependencyUnavailable', new DependencyUnavailable('nats'), 503, 'nats is unavailable'],
    ['an unknown route', new NotFoundException('Cannot GET /secret'), 404, 'Not found'],
    ['a large body', new PayloadTooLargeException(), 413, 'Request body is too large'],
    [
      'an error of Fastify with a status',
      { statusCode: 415, message: 'x' },
      415,
      'Unsupported content type, send application/json',
    ],
    [
      'a request body that ended early',
      Object.assign(withCode('aborted', 'ECONNRESET'), { statusCode: 400 }),
      400,
      'Malformed request',
    ],
    ['a network error that may be a vendor’s', withCode('connect', 'ECONNREFUSED'), 500, 'Internal error'],
    ['a timeout of an unknown server', named('TimeoutError'), 500, 'Internal error'],
    ['a Redis client out of retries', named('MaxRetriesPerRequestError'), 503, 'redis is unavailable'],
    ['a Redis command that timed out', new Error('Command timed out'), 503, 'redis is unavailable'],
    ['a unique violation', withCode('duplicate key', '23505'), 500, 'Internal error'],
    ['a bug', new TypeError('cannot read secret of undefined'), 500, 'Internal error'],
    ['a thrown string', 'oops', 500, 'Internal error'],
    ['a thrown undefined', undefined, 500, 'Internal error'],
  ];
  it.each(table)('errorAnswer maps %s to its status and text', (_, thrown, status, error) => {
    expect(errorAnswer(thrown)).toMatchObject({ status, error });
  });

  it.each([
    ['an AppError: its own code', new NotFound(), 'NOT_FOUND'],
    ['a 4xx of the framework: a code for the status', new PayloadTooLargeException(), 'BODY_TOO_LARGE'],
    ['an unusual 4xx: REQUEST_REFUSED', { statusCode: 418 }, 'REQUEST_REFUSED'],
    ['a bug: INTERNAL', withCode('duplicate key', '23505'), 'INTERNAL'],
  ])('errorAnswer returns a code for %s', (_, thrown, code) => {
    expect(errorAnswer(thrown).code).toBe(code);
  });

  it('errorAnswer returns retryAfterSeconds for TooManyRequests and DependencyUnavailable', () => {
    expect(errorAnswer(new TooManyRequests(7)).retryAfterSeconds).toBe(7);
    expect(errorAnswer(new DependencyUnavailable('redis')).retryAfterSeconds).toBeGreaterThan(0);
  });
});
