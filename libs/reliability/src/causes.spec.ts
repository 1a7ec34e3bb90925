import { describe, expect, it } from '@jest/globals';
import { AppError, DependencyUnavailable, Forbidden, NotFound } from '#platform';
import { CAUSE_ANSWERS, CauseError, causeOf, CAUSES } from './causes.js';
import { DeadlineExceeded, Superseded } from './coalesce/flight.js';
import { AnswerTooLarge, CallAborted, CallTimedOut, ConnectionFailed } from './outbound.errors.js';

const redisError = (message: string) => new Error(message);

describe('causeOf', () => {
  it.each<[string, unknown, string]>([
    ['CallTimedOut', new CallTimedOut('broker'), 'dependency_timeout'],
    ['DeadlineExceeded', new DeadlineExceeded(), 'dependency_timeout'],
    ['the error of AbortSignal.timeout', new DOMException('late', 'TimeoutError'), 'dependency_timeout'],
    ['ConnectionFailed', new ConnectionFailed('broker'), 'broker_error'],
    ['AnswerTooLarge', new AnswerTooLarge('broker', 1), 'broker_error'],
    ['Superseded', new Superseded(), 'superseded'],
    ['CallAborted by Superseded', new CallAborted('broker', { cause: new Superseded() }), 'superseded'],
    [
      'CallAborted by DeadlineExceeded',
      new CallAborted('broker', { cause: new DeadlineExceeded() }),
      'dependency_timeout',
    ],
    ['CallAborted without a reason', new CallAborted('broker'), 'broker_error'],
    ['DependencyUnavailable of Redis', new DependencyUnavailable('redis'), 'redis_unavailable'],
    ['a command timeout of ioredis', redisError('Command timed out'), 'redis_unavailable'],
    [
      'a Redis out of memory',
      redisError("OOM command not allowed when used memory > 'maxmemory'."),
      'redis_unavailable',
    ],
    ['DependencyUnavailable of Postgres', new DependencyUnavailable('postgres'), 'broker_error'],
    ['NotFound', new NotFound(), 'not_found'],
    ['Forbidden', new Forbidden('not yours'), 'policy_blocked'],
    ['an unforeseen error', new TypeError('x is not a function'), 'broker_error'],
    ['a thrown string', 'text', 'broker_error'],
    ['undefined', undefined, 'broker_error'],
  ])('causeOf maps %s', (_, error, cause) => expect(causeOf(error)).toBe(cause));

  it.each(CAUSES)('causeOf returns the cause of a CauseError, also of a wrapped CauseError: %s', (cause) => {
    expect(causeOf(new CauseError(cause))).toBe(cause);
    expect(causeOf(new Error('around it', { cause: new CauseError(cause) }))).toBe(cause);
  });

  it('causeOf returns broker_error for a circular chain of causes', () => {
    const error = new Error('a');
    error.cause = new Error('b', { cause: error });
    expect(causeOf(error)).toBe('broker_error');
  });
});

describe('CAUSE_ANSWERS', () => {
  it('the answer to a cause is a clip if a dependency failed, and nothing to play otherwise', () => {
    const kinds = Object.fromEntries(CAUSES.map((cause) => [cause, CAUSE_ANSWERS[cause].kind]));
    expect(kinds).toEqual({
      capacity_busy: 'empty',
      policy_blocked: 'empty',
      superseded: 'empty',
      not_found: 'empty',
      dependency_timeout: 'clip',
      broker_error: 'clip',
      redis_unavailable: 'clip',
    });
  });

  it('CAUSE_ANSWERS has exactly one answer per cause', () => {
    expect(Object.keys(CAUSE_ANSWERS).sort()).toEqual([...CAUSES].sort());
  });

  it.each(CAUSES)('the answer to %s tells the athlete what to do and names no internals', (cause) => {
    const { message, retryAfterSeconds } = CAUSE_ANSWERS[cause];
    expect(message).toMatch(/please/i);
    expect(message).not.toMatch(/redis|broker|postgres|time-?out|cause|null|undefined|_/i);
    if (retryAfterSeconds !== null) expect(message).toMatch(/try again in/);
  });

  it('CAUSE_ANSWERS cannot be changed at runtime', () => {
    const table = CAUSE_ANSWERS as unknown as Record<string, { message: string }>;
    expect(() => (table['not_found']!.message = 'other')).toThrow(TypeError);
    expect(() => delete table['not_found']).toThrow(TypeError);
  });

  it.each(CAUSES)('the answer to %s has the same bytes each of a hundred times', (cause) => {
    const seen = new Set(
      Array.from({ length: 100 }, () => JSON.stringify(CAUSE_ANSWERS[causeOf(new CauseError(cause))])),
    );
    expect(seen.size).toBe(1);
  });

  it('CauseError is an AppError with its cause in `why`', () => {
    const error = new CauseError('broker_error');
    expect(error).toBeInstanceOf(AppError);
    expect(error).toMatchObject({ kind: 'unavailable', why: 'broker_error' });
  });
});
