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
    ['our own not found', new NotFound('No such activity'), 404, 'No such activity'],
    ['a missing role', new Forbidden('This needs the admin role'), 403, 'This needs the admin role'],
    ['input with details', new InvalidInput(['date: Invalid date format']), 400, 'Validation failed'],
    ['too many requests', new TooManyRequests(7), 429, 'Too many requests'],
    ['a dependency away', new DependencyUnavailable('nats'), 503, 'nats is unavailable'],
    ['an unknown route', new NotFoundException('Cannot GET /secret'), 404, 'Not found'],
    ['a large body', new PayloadTooLargeException(), 413, 'Request body is too large'],
    [
      "fastify's own error",
      { statusCode: 415, message: 'x' },
      415,
      'Unsupported content type, send application/json',
    ],
    [
      'a body that broke off',
      Object.assign(withCode('aborted', 'ECONNRESET'), { statusCode: 400 }),
      400,
      'Malformed request',
    ],
    [
      "a vendor's network, which the vendor's client has to explain",
      withCode('connect', 'ECONNREFUSED'),
      500,
      'Internal error',
    ],
    ["a time-out that may be anybody's", named('TimeoutError'), 500, 'Internal error'],
    ['redis away', named('MaxRetriesPerRequestError'), 503, 'redis is unavailable'],
    ['redis frozen', new Error('Command timed out'), 503, 'redis is unavailable'],
    [
      'a unique violation, which is ours to handle',
      withCode('duplicate key', '23505'),
      500,
      'Internal error',
    ],
    ['a bug', new TypeError('cannot read secret of undefined'), 500, 'Internal error'],
    ['something that is no error', 'oops', 500, 'Internal error'],
    ['nothing at all', undefined, 500, 'Internal error'],
  ];
  it.each(table)('%s', (_, thrown, status, error) => {
    expect(errorAnswer(thrown)).toMatchObject({ status, error });
  });

  it('says when to come back where that is known', () => {
    expect(errorAnswer(new TooManyRequests(7)).retryAfterSeconds).toBe(7);
    expect(errorAnswer(new DependencyUnavailable('redis')).retryAfterSeconds).toBeGreaterThan(0);
  });
});
